# How the two processes talk; the beginning of both runner.py and checker.py. A message is its length in 4
# bytes, then its content. A value is a tag, then for most tags a count in 4 bytes, then bytes or further values.
# Plain types only: the receiver makes every object itself, so none brings methods of its own.
import posix
import sys

MOST_BYTES = 1 << 20  # of a message
MOST_DEPTH = 100  # of values within values; what lies deeper is an Opaque


class TooLarge(Exception):
    pass


class Broken(Exception):
    """Bytes that no sender of ours makes."""


class Gone(Exception):
    """Nobody is at the other end."""


class Opaque:
    """Stands for a value that is not plain: equal to nothing but itself."""


class Series(Opaque):
    """Stands for a container of another kind: equal to nothing but itself, but its items can be seen."""

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)


# What a test may pass. Nothing is sent for another type, not even for one that derives from these.
SENDABLE = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, Opaque, Series)


def four(count):
    return count.to_bytes(4, "big")


# places: id → number of the containers among a call's arguments, which are sent once. `numbered`: where these are
# sent, the list that each of them is appended to.
def put(value, places, out, numbered=None, depth=0):
    place = places.get(id(value))
    if place is None:
        put_inside(value, places, out, numbered, depth)
    else:
        out += b"R" + four(place)


def put_inside(value, places, out, numbered=None, depth=0):
    if len(out) > MOST_BYTES:
        raise TooLarge
    kind = type(value)
    if value is None or value is True or value is False:
        out += b"N" if value is None else b"T" if value else b"F"
    elif numbered is not None and kind not in SENDABLE:
        raise TypeError(f"the test passes an argument of type {kind.__name__}, which cannot be sent")
    elif depth > MOST_DEPTH:
        out += b"O"
    elif issubclass(kind, int):
        if int.bit_length(value) > 8 * MOST_BYTES:
            raise TooLarge
        put_bytes(b"I", int.to_bytes(value, int.bit_length(value) // 8 + 1, "big", signed=True), out)
    elif issubclass(kind, float):
        put_bytes(b"D", float.hex(value).encode(), out)
    elif issubclass(kind, complex):
        parts = (complex.real.__get__(value), complex.imag.__get__(value))
        put_bytes(b"C", " ".join(map(float.hex, parts)).encode(), out)
    elif issubclass(kind, str):
        if str.__len__(value) > MOST_BYTES:
            raise TooLarge
        put_bytes(b"S", str.encode(value, "utf-8", "surrogatepass"), out)
    elif issubclass(kind, (bytes, bytearray)):
        if numbered is not None and kind is bytearray:
            number_it(value, places, numbered)
        put_bytes(b"B" if issubclass(kind, bytes) else b"A", memoryview(value), out)
    elif issubclass(kind, dict):
        if numbered is not None:
            number_it(value, places, numbered)
        out += b"M" + four(dict.__len__(value))
        for key, item in dict.items(value):
            put(key, places, out, numbered, depth + 1)
            put(item, places, out, numbered, depth + 1)
    elif issubclass(kind, (list, tuple, set, frozenset)):
        for base, tag in ((list, b"L"), (tuple, b"U"), (set, b"E"), (frozenset, b"Z")):
            if issubclass(kind, base):
                break
        if numbered is not None and tag in b"LE":
            number_it(value, places, numbered)
        out += tag + four(base.__len__(value))
        for item in base.__iter__(value):
            put(item, places, out, numbered, depth + 1)
    else:
        put_other(value, places, out, numbered, depth)


def number_it(value, places, numbered):
    places[id(value)] = len(numbered)
    numbered.append(value)


def put_bytes(tag, data, out):
    if len(out) + len(data) > MOST_BYTES:
        raise TooLarge
    out += tag + four(len(data)) + data


def put_other(value, places, out, numbered, depth):
    kind = type(value)
    if kind is getattr(sys.modules.get("decimal"), "Decimal", Opaque):
        put_bytes(b"P", str(value).encode(), out)
    elif kind is getattr(sys.modules.get("fractions"), "Fraction", Opaque):
        out += b"Q"
        put_inside(int(value.numerator), {}, out)
        put_inside(int(value.denominator), {}, out)
    elif hasattr(kind, "__iter__"):
        begin = len(out)
        try:
            out += b"G" if hasattr(kind, "__next__") else b"X"
            count = len(out)
            out += four(0)
            seen = 0
            for item in value:
                put(item, places, out, None, depth + 1)
                seen += 1
            out[count : count + 4] = four(seen)
        except MemoryError:
            raise
        except Exception:
            out[begin:] = b"O"
    else:
        out += b"O"


class Reader:
    """Values of a message. Raises Broken whatever is wrong with it."""

    def __init__(self, data, containers, is_numbered=False):
        self.data, self.at = data, 0
        self.containers, self.is_numbered = containers, is_numbered

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Broken("a message that ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def count(self):
        return int.from_bytes(self.take(4), "big")

    def value(self, depth=0):
        try:
            return self.read(self.take(1), depth)
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise Broken(f"a message that cannot be read ({type(error).__name__})") from None

    def number_it(self, container):
        if self.is_numbered:
            self.containers.append(container)
        return container

    def items(self, depth):
        size = self.count()
        if size > len(self.data) - self.at:  # an item takes a byte at least
            raise Broken("a message that ends too early")
        for _ in range(size):
            yield self.value(depth + 1)

    def read(self, tag, depth):
        if depth > MOST_DEPTH + 1:
            raise Broken("values nested too deeply")
        if tag == b"N":
            return None
        if tag == b"T" or tag == b"F":
            return tag == b"T"
        if tag == b"I":
            return int.from_bytes(self.take(self.count()), "big", signed=True)
        if tag == b"D":
            return float.fromhex(self.take(self.count()).decode())
        if tag == b"S":
            return self.take(self.count()).decode("utf-8", "surrogatepass")
        if tag == b"R":
            return self.containers[self.count()]
        if tag == b"L":
            container = self.number_it([])
            container.extend(self.items(depth))
            return container
        if tag == b"U":
            return tuple(self.items(depth))
        if tag == b"M":
            container = self.number_it({})
            for _ in range(self.count()):
                key = self.value(depth + 1)
                container[key] = self.value(depth + 1)
            return container
        if tag == b"E":
            container = self.number_it(set())
            container.update(self.items(depth))
            return container
        if tag == b"Z":
            return frozenset(self.items(depth))
        if tag == b"B":
            return self.take(self.count())
        if tag == b"A":
            return self.number_it(bytearray(self.take(self.count())))
        if tag == b"C":
            return complex(*map(float.fromhex, self.take(self.count()).decode().split()))
        if tag == b"P":
            from decimal import Decimal

            return Decimal(self.take(self.count()).decode())
        if tag == b"Q":
            from fractions import Fraction

            return Fraction(self.value(depth + 1), self.value(depth + 1))
        if tag == b"G":
            return iter(list(self.items(depth)))
        if tag == b"X":
            return Series(list(self.items(depth)))
        if tag == b"O":
            return Opaque()
        raise Broken("a message with an unknown tag")


def receive(place, size):
    data = b""
    while len(data) < size:
        part = posix.read(place, size - len(data))
        if not part:
            raise Gone
        data += part
    return data


def receive_message(place):
    size = int.from_bytes(receive(place, 4), "big")
    if size > MOST_BYTES + 4096:
        raise Broken("a message that is too long")
    return receive(place, size)


def send_message(place, data):
    data = four(len(data)) + data
    while data:
        data = data[posix.write(place, data) :]


# Runs a problem's beginning, which may end at the head of a function.
def run_prompt(text, scope):
    try:
        code = compile(text, "<prompt>", "exec")
    except SyntaxError:
        code = compile(text + "\n    pass\n", "<prompt>", "exec")
    exec(code, scope)


# threads: 0 where users are not counted apart.
def restrict(files, stack, threads):
    import resource

    for what, value in ((resource.RLIMIT_NOFILE, files), (resource.RLIMIT_STACK, stack), (resource.RLIMIT_NPROC, threads)):
        if value:
            hard = resource.getrlimit(what)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(what, (value, value))
    sys.path[:] = [place for place in sys.path if place]


# A header line of numbers on standard input: limits, then the lengths of the texts that follow.
def read_job(limits):
    parts = []
    while part := posix.read(0, 1 << 20):
        parts.append(part)
    header, rest = b"".join(parts).split(b"\n", 1)
    numbers = [int(word) for word in header.split()]
    texts = []
    for size in numbers[limits:]:
        texts.append(rest[:size])
        rest = rest[size:]
    return numbers[:limits], texts


REQUESTS, ANSWERS, REPORT = 5, 6, 7
