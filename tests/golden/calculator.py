"""Golden answers of the calculator: tests/golden/calculator.json.

Python's own eval under the rules of nanochat (engine.py), old and new: expressions written by hand, and
random ones of three kinds (arithmetic, any text of the allowed characters, strings and their methods).
The committed file was made with CPython 3.11. Not among them: values whose text holds an address, complex numbers,
bytes, names of methods that our calculator does not follow.
Run: /usr/bin/python3 tests/golden/calculator.py
"""

import json
import pathlib
import random
import warnings

warnings.simplefilter("ignore")

NUMERIC = "0123456789*+-/.() "
STRINGS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'\"()._ "
FORBIDDEN = (
    "__ import exec eval compile open file input raw_input globals locals vars dir getattr setattr delattr hasattr"
).split()


def evaluate(text):
    try:
        value = eval(text, {"__builtins__": {}}, {})
        return None if value is None else str(value)
    except Exception:
        return None


def old(text):
    text = text.replace(",", "")
    if any(c not in NUMERIC for c in text) or "**" in text:
        return None
    return evaluate(text)


def new(text):
    text = text.replace(",", "")
    if all(c in NUMERIC for c in text):
        return None if "**" in text else evaluate(text)
    if any(c not in STRINGS for c in text) or any(word in text.lower() for word in FORBIDDEN):
        return None
    return evaluate(text) if ".count(" in text else None


HAND = """
12/60
0.2*50
100/3
7//2
-7//2
7//-2
7.0//-2
-1.0//0.1
1.0//0.1
5.
.5
.
..
...
....
(...)
...()
...*2
1..
1...
()
( )
(())
()+()
()*3
3*()
3*()*2
()*-1
()*2.
()*99999999999999999999
()*-9223372036854775807
-()
+()
+...
()()
()/1
007
00
000
00.5
09
09.5
0
-0
-0.0
+0.0
0/5
0/-5
-0/5
0//-5
0.0/-5
-0.0*3
5 (3)
5(3)
(5)(3)
5()
1.5(2)
1/0
1//0
1./0
1.//0
0/0
0.0/0.0
--5
-+-5
- - 5
+-+-5
5--5
5- -5
5+-5
5*-3
5/-3
5//-3
5* *3
5**3
2***3
5/ /3
5///3
5//
/5
*5
(*5)
5*
5+
(5
5)
)5(
((5))
  5
5  
 5 + 3 
5 5
1 .5
1. 5
1 . 5
1.5.2
1,000
1,000*2
1,2,3
,
,5
1,000.50+2
1000000*1000000
123456789*987654321
99999999999999999999*99999999999999999999
1/3
2/3
2/3*3
1/7
10/4
10/5
1/49*49
0.1+0.2
0.1*3
1.1*1.1
1.10
100.0
1e5
1E5
1_000
9007199254740993/1
9007199254740993*1.0
9007199254740992+1.0
9007199254740993/3
1/9007199254740993
18014398509481985/2
123456789012345678901234567890/7
123456789012345678901234567890//7
-123456789012345678901234567890//7
123456789012345678901234567890//-7
123456789012345678901234567890/123456789012345678901234567891
123456789012345678901234567890*0.1
123456789012345678901234567890//0.1
10000000000000000.0
1000000000000000.0
9999999999999998.0
99999999999999990.0
12345678901234567890.0
0.0001
0.00001
0.00012345
0.000012345
0.1/1000
123456.789e
1.7976931348623157
4.35*100
2.675*100
1.005*1000
0.3-0.1
16*3*7
20*0.15
1/2+1/2
(2+3)*4
2+3*4
(1+2)*(3+4)/(5-6)
8/(3-8/3)
((((((((((5))))))))))
50*2/100-(3*4)//5
5%3
5^3
5==5
5<6
5;6
5=6
five
2x3
$5
5\u00d73
\u0665
5\u00a0+5

'strawberry'.count('r')
"strawberry".count("r")
'strawberry'.count("r")
'strawberry' .count( 'r' )
'strawberry'. count('r')
'Strawberry'.count('s')
'Strawberry'.lower().count('s')
'aaa'.count('aa')
'aaa'.count('')
''.count('')
''.count('a')
'a,b,c'.count(',')
'a b c'.count(' ')
'.count('
".count(" '.count('
'ab''cd'.count('b')
'ab' 'cd'.count('bc')
('aab').count('a')
(('aab')).count(('a'))
'a'.count()
'a'.count('a''b')
'a'.count(5)
'a'.count(None)
'a'.count(True)
'a'.count('a').count('a')
'a'.count('a')('a')
'a'.count('a') if 1 else 2
'a'.count('a') if 0 else 2
'a'.count('b') or 7
'a'.count('a') or 'a'.count(5)
'a'.count('b') and 'a'.count(5)
'a'.count('a') and 'a'.count(5)
'a'.count('a') and 'x'
'a'.count('a') and None
not 'a'.count('a')
not not 'a'.count('a')
'a'.count('a') in 'a'
'a' in 'a'.count('a')
'a'in'abc' and'a'.count('a')
'a' not in 'abc' or 'a'.count('b')
'a' in 'ab' in 'abc' and 'abc'.count('b')
'a'.count('a') is None
'a'.count('a') is not None
'a'.count('a') if True else None
'a'.count(
'a'.count('a'
'a'.count('a
'a.count('a')
a.count('a')
'a'.count(a)
word.count('r')
str('a').count('a')
len('aa').count('a')
5 .count('a')
5.count('a')
(5).count('a')
().count('a')
().count(5)
True.count('a')
print.count('a')
'director'.count('r')
'open'.count('o')
'important'.count('t')
'filed'.count('d')
'Compiler'.count('p')
'evaluate'.count('a')
'a__b'.count('_')
'a_b'.count('_')
'a-b'.count('-')
'naive\u00e9'.count('e')
'word'.index('r')
'word'.count('r') 'x'
'word'.count('r'),
'word'.count('r')+1
'word'.count
'word'.Count('r')
'''word'''.count('r')
\"\"\"word\"\"\".count('r')
''''word'''.count('r')
'' 'word'.count('r')
r'word'.count('r')
f'word'.count('r')
u'word'.count('r')
R'word'.count('r')
rb'a' 'b'.count('b')
ur'word'.count('r')
fr'word'.count('r')
x'word'.count('r')
'a' b'b'.count('a')
'one two one'.split().count('one')
'one two one'.split()
'one two one'.split() and 'a'.count('b') or 'one two'.split()
'one two'.split('o') or 'a'.count('a')
'a'.split('') or 'a'.count('a')
'"a" b'.split() or '.count('
"it's".split() or '.count('
'hello world'.title().count('W')
'hello world'.capitalize().count('H')
'Hello'.swapcase().count('E')
'  a  '.strip().count(' ')
'xxaxx'.strip('x').count('x')
'xxaxx'.lstrip('x').count('x')
'xxaxx'.rstrip('x').count('x')
'a'.strip(None).count('a')
'a'.strip(5).count('a')
'abc'.find('b') or '.count('
'abcb'.rfind('b') or '.count('
'abc'.find('z') or '.count('
'abc'.index('z') or '.count('
'abc'.startswith('a') and 'abc'.count('c')
'abc'.endswith('a') or 'abc'.count('c')
'abc'.removeprefix('a').count('a')
'abc'.removesuffix('c').count('c')
'abc'.isalpha() and 'abc'.count('c')
'abc1'.isalnum() and 'abc'.count('c')
'12'.isdigit() and '12'.count('2')
'abc'.islower() and 'abc'.count('c')
'ABC'.isupper() and 'ABC'.count('C')
' '.isspace() and ' '.count(' ')
'A'.lower('x').count('a')
'A'.lower.count('a')
0x1F or '.count('
0b101 or '.count('
0o17 or '.count('
0b2 or '.count('
0x or '.count('
0x_1f or '.count('
1_000 or '.count('
1__0 or '.count('
1_ or '.count('
_1 or '.count('
1e5 or '.count('
1e400 or '.count('
0e5 or '.count('
1.e5 or '.count('
.5e3 or '.count('
1_0.5_0e1_0 or '.count('
1e or '.count('
1e22 or '.count('
1e16 or '.count('
1if 1else 2 and '.count('
1or '.count('
1and '.count('
lambda or '.count('
None or '.count('
if '.count('
and '.count('
'.count(' or
yield '.count('
Ellipsis or '.count('
... and '.count('
... or '.count('
() or '.count('
() in () or '.count('
'a'.in('a') or '.count('
'.count(' or a.True
'.count(' or a.b
'a'..count('a')
'a'.(count)('a')
'a'.5 or '.count('
""".split("\n")[1:-1]


def wide():
    """Long ones: digits, depth, the ends of the range of doubles."""
    nines = "9" * 309
    yield from ["9" * 400, "9" * 4300, "9" * 4301, "0" * 5000, "0" * 5000 + "1", "-" + "9" * 4300]
    yield from ["9" * 2150 + "*" + "9" * 2150, "9" * 2151 + "*" + "9" * 2150, "9" * 3000 + "*" + "9" * 3000 + "//" + "9" * 2900]
    yield from [nines + "*1.0", nines + "/1", nines + "//1.0", nines + ".", nines + ".-" + nines + ".", "9" * 308 + ".0"]
    yield from ["9" * 400 + "/" + "9" * 399, "1/" + "9" * 400, "1/" + "9" * 320, "3/" + "1" + "0" * 323, "-1/" + "9" * 400]
    yield from ["5/1" + "0" * 324, "247032822920623272088284396434110686182/1" + "0" * 362, "1/1" + "0" * 308]
    yield from ["2" + "0" * 308 + "/1", "179769313486231570" + "0" * 291 + "/1", "179769313486231580" + "0" * 291 + "/1"]
    yield from ["179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880*1.0"]
    yield from ["." + "0" * 330 + "1", "." + "0" * 322 + "5", "0." + "0" * 323 + "3", "-." + "0" * 400 + "1*1"]
    yield from ["(" * 200 + "5" + ")" * 200, "(" * 201 + "5" + ")" * 201, "(" * 50 + "5", "(" * 60 + ")" * 60]
    yield from ["-" * 2000 + "5", "5" + "+1" * 2000, "5" + "*1" * 1500 + "+2", "-" * 5000 + "5", "1" + "-1" * 5000]
    yield from ["1" + "*10" * 400, "1" + "*9999999" * 300, "1" + "/10" * 400, "1." + "*10" * 400 + "-1." + "*10" * 400]


def number(rng):
    kind = rng.random()
    if kind < 0.4:
        return str(rng.randrange(100))
    if kind < 0.55:
        return str(rng.randrange(10 ** rng.randrange(1, 40)))
    if kind < 0.6:
        return f"{rng.randrange(10**6):,}"
    if kind < 0.9:
        return f"{rng.random() * 10 ** rng.randrange(-6, 20):.{rng.randrange(0, 12)}f}"
    return rng.choice(["0", "0.0", ".5", "5.", "00", "1.0", "3.14159", "100"])


def arithmetic(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return number(rng)
    kind, space = rng.random(), rng.choice(["", "", " "])
    if kind < 0.75:
        op = rng.choice(["+", "-", "*", "/", "//", "*", "/"])
        return arithmetic(rng, depth - 1) + space + op + space + arithmetic(rng, depth - 1)
    if kind < 0.9:
        return "(" + space + arithmetic(rng, depth - 1) + space + ")"
    return rng.choice("+-") + space + arithmetic(rng, depth - 1)


def noise(rng):
    return "".join(rng.choice("0123456789" + "+-*/.() " * 2) for _ in range(rng.randrange(1, 9)))


def text_method(rng):
    quote = rng.choice("'\"")
    word = quote + "".join(rng.choice("abAB .") for _ in range(rng.randrange(0, 9))) + quote
    for _ in range(rng.randrange(0, 3)):
        word += rng.choice([".lower()", ".upper()", ".title()", ".strip()", ".swapcase()", ".lstrip('a')", ".rstrip('b ')"])
    call = word + ".count(" + quote + "".join(rng.choice("abA ") for _ in range(rng.randrange(0, 3))) + quote + ")"
    kind = rng.random()
    if kind < 0.5:
        return call
    if kind < 0.7:
        return call + rng.choice([" or ", " and ", " in ", " not in "]) + word
    if kind < 0.85:
        return rng.choice(["not ", "not not "]) + call
    return word + " if " + call + " else " + word + rng.choice([".isupper()", ".islower()", ".isalpha()", ".split()", ".split('a')"])


def cases():
    rng = random.Random(5)
    yield from HAND
    yield from wide()
    for _ in range(350):
        yield arithmetic(rng, rng.randrange(1, 5))
    for _ in range(150):
        yield noise(rng)
    for _ in range(150):
        yield text_method(rng)


if __name__ == "__main__":
    rows = []
    for text in dict.fromkeys(cases()):
        rows.append([text, old(text), new(text)])
    addressed = [row for row in rows if " at 0x" in (row[2] or "")]
    rows = [row for row in rows if row not in addressed]
    out = pathlib.Path(__file__).with_suffix(".json")
    lines = ",\n".join(json.dumps(row) for row in rows)
    out.write_text('{"source": "tests/golden/calculator.py", "cases": [\n' + lines + "\n]}\n")
    answered = sum(row[2] is not None for row in rows)
    print(len(rows), "expressions,", answered, "answered; left out:", [row[0] for row in addressed])
