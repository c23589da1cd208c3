# Prints variants of a test, each with one assertion that expects another value than it did. Runs in the
# sandbox, before any program that nobody trusts; the test stands below as a string.
import ast


def another(node):
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            return ast.Constant(not value)
        if isinstance(value, (int, float)):
            return ast.Constant(value + 1)
        if isinstance(value, str):
            return ast.Constant(value + "~")
        return ast.Constant(0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ast.UnaryOp(ast.USub(), another(node.operand))
    if isinstance(node, (ast.List, ast.Tuple)):
        elements = [another(node.elts[0]), *node.elts[1:]] if node.elts else [ast.Constant(0)]
        return type(node)(elements, ast.Load())
    return ast.Tuple([node, node], ast.Load())


def asks(node):
    return any(isinstance(part, ast.Name) and part.id == "candidate" for part in ast.walk(node))


# In "abs(candidate(x) - 2.5) < 1e-6": 2.5 becomes 3.5.
class Shift(ast.NodeTransformer):
    done = False

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.Sub) and not self.done and asks(node.left) and not asks(node.right):
            self.done = True
            return ast.BinOp(node.left, ast.Sub(), ast.BinOp(node.right, ast.Add(), ast.Constant(1)))
        return self.generic_visit(node)


def twisted(test):
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Eq):
            if asks(right) and not asks(left):
                return ast.Compare(another(left), test.ops, [right])
            return ast.Compare(left, test.ops, [another(right)])
        if isinstance(test.ops[0], ast.Lt):
            shift = Shift()
            changed = shift.visit(test)
            if shift.done:
                return changed
    return ast.UnaryOp(ast.Not(), test)


# Assertion number `wanted` twisted, the others as they are. "assert True" counts for nothing.
class Twist(ast.NodeTransformer):
    def __init__(self, wanted):
        self.wanted, self.count = wanted, 0

    def visit_Assert(self, node):
        if isinstance(node.test, ast.Constant):
            return node
        if self.count == self.wanted:
            node.test = twisted(node.test)
        self.count += 1
        return node


def show(tree):
    print(ast.unparse(ast.fix_missing_locations(tree)), end="\x1e")


# The first assertion, the last, and some between.
def twist(text, most):
    counting = Twist(-1)
    counting.visit(ast.parse(text))
    count = min(counting.count, most)
    for i in range(count):
        tree = ast.parse(text)
        Twist(i * (counting.count - 1) // max(count - 1, 1)).visit(tree)
        show(tree)
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "check":
            node.body = ast.parse("raise AssertionError").body
    show(tree)


