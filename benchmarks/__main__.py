"""Run the named benchmarks, or every one: each module of this package with a `main()`, but the soak."""

import argparse
import pkgutil
from importlib import import_module

import benchmarks


def main() -> None:
    known = sorted(name for _, name, _ in pkgutil.iter_modules(benchmarks.__path__) if name not in ("__main__", "soak"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(known)}")
    names = parser.parse_args().names
    if unknown := set(names) - set(known):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    for name in names or known:
        module = import_module(f"benchmarks.{name}")
        print(f"{name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        module.main()


if __name__ == "__main__":
    main()
