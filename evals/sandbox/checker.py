# Runs a problem's test, in a process that no line of the program ever enters. `candidate` sends its arguments to
# runner.py, which holds the program in another process, and makes what comes back into plain objects of its own.
# Reports to the supervisor: "ready" as soon as runner.py is there, too, then one of
#   passed <printed>       the test ran to its end
#   failed <type> <text>   an exception left it, the program's or its own
#   memory                 a MemoryError did
#   gone                   the program's process ended, or closed its channel
#   broken <how>           it sent what runner.py never sends
#   unable <why>           the test cannot be run here, whatever the program is
import builtins
import io

KEPT_BYTES = 1 << 16  # of what the test prints


class Unable(Exception):
    pass


def report(text):
    while text:
        text = text[posix.write(REPORT, text) :]


def end(word, *lines):
    report(b"\n".join((word, *(" ".join(line.split()).encode("utf-8", "replace") for line in lines), b"")))
    posix._exit(0)


def exchange(kind, body):
    """Sends a request; the reader of its answer, behind the number that ties one to the other."""
    number = posix.urandom(8)
    try:
        send_message(REQUESTS, number + kind + body)
        answer = receive_message(ANSWERS)
    except (Gone, OSError):
        end(b"gone")
    except Broken as error:
        end(b"broken", str(error))
    if answer[:8] != number:
        end(b"broken", "an answer to no question")
    return answer[8:]


def raised(names, shown):
    """An exception of the first of these builtin types that can be made; `shown` is what the report says of it."""
    for name in (*names, "Exception"):
        known = vars(builtins).get(name)
        if isinstance(known, type) and issubclass(known, BaseException):
            try:
                error = known(shown[1])
            except TypeError:
                continue
            error.shown = shown
            return error


def understand(answer, containers):
    """The value of an answer, with the arguments as the call left them; or its exception."""
    kind, message = answer[:1], Reader(answer[1:], containers)
    value = message.value()
    contents = []
    for _ in range(message.count()):
        place = message.count()
        content = message.value()
        if place >= len(containers) or type(content) is not type(containers[place]):
            raise Broken("an argument that became another")
        contents.append((containers[place], content))
    if message.at != len(message.data) or kind not in (b"V", b"E"):
        raise Broken("an answer of another form")
    for container, content in contents:
        if isinstance(container, (list, bytearray)):
            container[:] = content
        else:
            container.clear()
            container.update(content)
    if kind == b"V":
        return value, None
    if type(value) is not tuple or len(value) < 2 or any(type(part) is not str for part in value):
        raise Broken("an exception of another form")
    return None, raised(value[2:], (value[0][:100], value[1][:200]))


def asked(kind, values):
    containers, body = [], bytearray()
    try:
        put(values, {}, body, containers)
    except TooLarge:
        raise Unable("the test passes arguments that are too large to be sent") from None
    except TypeError as error:
        raise Unable(str(error)) from None
    answer = exchange(kind, bytes(body))
    try:
        value, error = understand(answer, containers)
    except Broken as broken:
        end(b"broken", str(broken))
    if error is not None:
        raise error
    return value


def check(entry, prompt, test):
    try:
        is_there = receive_message(ANSWERS) == b"hello"
    except (Gone, Broken, OSError):
        is_there = False
    if not is_there:
        posix._exit(1)
    report(b"ready\n")
    scope = {}
    try:
        run_prompt(prompt, scope)
    except Exception as error:
        raise Unable(f"the prompt is not Python ({type(error).__name__}: {error})") from None
    # A test finds the prompt's functions only where the program has them too, as if they were its own.
    helpers = [name for name, value in scope.items() if type(value) is type(check) and value.__code__.co_filename == "<prompt>"]
    there = asked(b"N", (entry, *helpers))
    if type(there) is not tuple or len(there) != 1 + len(helpers):
        end(b"broken", "an answer of another form")
    for name, is_there in zip(helpers, there[1:]):
        if is_there is not True:
            del scope[name]

    def candidate(*arguments, **named):
        return asked(b"C", (arguments, named))

    if test:
        exec(test, scope)
        if there[0] is not True:
            raise NameError(f"name '{entry}' is not defined")
        candidate.__name__ = entry
        scope[entry] = candidate
        scope["check"](candidate)


def main():
    (files, stack, threads), texts = read_job(3)
    entry, prompt, test = (text.decode() for text in texts)
    restrict(files, stack, threads)
    if "random" in test:
        import random

        random.seed(0)
    printed = sys.stdout = sys.stderr = io.StringIO()
    try:
        check(entry, prompt, test)
    except MemoryError:
        end(b"memory")
    except Unable as error:
        end(b"unable", str(error))
    except BaseException as error:
        try:
            shown = getattr(error, "shown", None) or (type(error).__name__, str(error)[:200])
        except Exception:
            shown = (type(error).__name__, "")
        end(b"failed", *shown)
    out = printed.getvalue()[:KEPT_BYTES].encode("utf-8", "replace")[:KEPT_BYTES]
    report(b"passed\n" + out)
    posix._exit(0)


main()
