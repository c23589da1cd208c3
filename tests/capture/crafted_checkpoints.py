"""Writes .pt files whose pickles name programs: crafted_checkpoints.py FOLDER FILE, which none of them may create."""
import sys
import zipfile

folder, ran = sys.argv[1:]
command = ("touch " + ran).encode()


def call(module, name, argument):
    """Opcodes that call module.name(argument) and stop."""
    return b"c" + module + b"\n" + name + b"\nX" + len(argument).to_bytes(4, "little") + argument + b"\x85R."


attacks = {
    "system": call(b"posix", b"system", command),
    "builtin": call(b"builtins", b"eval", b"__import__('os').system('" + command + b"')"),
    # torch.load(weights_only=True) of 1.13 raises TypeError at a state of slots, which plain pickle takes.
    "slots": b"ccollections\nOrderedDict\n)RN}\x86b0" + call(b"posix", b"system", command),
    "unbound": b"ctorch._utils\n_rebuild_tensor_v2\n)R" + call(b"posix", b"system", command),
    "numpy": call(b"numpy", b"load", b"x"),
    "cut": b"c",
}
for name, opcodes in attacks.items():
    with zipfile.ZipFile(f"{folder}/{name}.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + opcodes)
        archive.writestr("archive/version", b"3\n")
