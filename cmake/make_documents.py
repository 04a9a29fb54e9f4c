#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes man pages and completions from what `ringside --help` and `ringside help COMMAND` print.

usage: make_documents.py OUTPUT_DIRECTORY PROGRAM...

PROGRAM is the command line tool, with an emulator before it if this machine cannot run it. OUTPUT
gets man/ringside*.1, and completions for bash (ringside), zsh (_ringside) and fish (ringside.fish).
"""
import os
import pathlib
import re
import subprocess
import sys

# The values of an option are such kinds; a shell completes them as files or directories.
FILES = {"FILE", "DIR", "OUTPUT", "PATH", "DIR_OR_FILE"}


class Option:
    """A row `-o, --output FILE  text` of a help text."""

    def __init__(self, left, text):
        names = re.match(r"(-[^\s,]+(?:, -[^\s,]+)*)(?: (\S.*))?$", left)
        if not names:
            raise ValueError(f"not an option: {left}")
        self.left, self.text = left, text
        self.names, self.kind = names.group(1).split(", "), names.group(2)
        words = re.match(r"([a-z][a-z-]*(?:, [a-z][a-z-]*)* or [a-z][a-z-]*)\b", text)
        self.values = re.split(r", | or ", words.group(1)) if self.kind == "FORMAT" and words else []

    def is_file(self):
        return self.kind in FILES

    def brief(self):
        """The first clause, without what a shell would expand."""
        return re.sub(r"[`'\"\[\]\\$:]", "", re.split(r"[;:(]", self.text)[0]).strip()


class Command:
    """A command: its help text, taken apart, and its own commands."""

    def __init__(self, program, path):
        self.path = path
        text = subprocess.run(
            [*program, *path[1:], "--help"], check=True, stdout=subprocess.PIPE,
            env={**os.environ, "COLUMNS": "120"}, universal_newlines=True).stdout
        blocks = text.rstrip("\n").split("\n\n")
        self.description = " ".join(blocks[0].split())
        self.usage = blocks[1][len("Usage: "):]
        if not blocks[1].startswith("Usage: ringside"):
            raise ValueError(f"{' '.join(path)} --help has no usage: {blocks[1]}")
        self.sections = [section(block) for block in blocks[2:]]
        self.options = [Option(*row) for title, rows in self.sections if is_options(title)
                        for row in rows if row[0].startswith("-")]
        has_commands = " COMMAND " in self.usage and " -- COMMAND" not in self.usage
        names = []
        for title, rows in self.sections if has_commands else []:
            if title == "Options":
                break
            names += [left for left, _ in rows]
        self.commands = [Command(program, [*path, name]) for name in names]
        # The rest of a command line is a command of its own, or traces, or nothing.
        self.takes_command = " -- COMMAND" in self.usage
        self.takes_files = any(left in FILES for title, rows in self.sections
                               if title == "Arguments" for left, _ in rows)

    def all(self):
        yield self
        for command in self.commands:
            yield from command.all()


def is_options(title):
    return title not in (None, "Arguments", "Examples", "Exit status")


def section(block):
    """(title, rows) of a list, or (None, text)."""
    title, *lines = block.split("\n")
    if not title.endswith(":") or not lines or not all(line.startswith("  ") for line in lines):
        return None, " ".join(block.split())
    rows = []
    for line in lines:
        if line.startswith("   "):  # goes on; the left part stands alone if it was long
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
        else:
            left, _, right = line.strip().partition("  ")
            rows.append([left, right.strip()])
    return title[:-1], rows


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return "\\&" + text if text.startswith((".", "'")) else text


def man_page(command, version, parent):
    name = "-".join(command.path)
    lines = [f'.TH {name.upper()} 1 "" "{version}" "Ringside"', ".SH NAME",
             f"{troff(name)} \\- {troff(command.description.rstrip('.'))}",
             ".SH SYNOPSIS", ".B " + troff(command.usage)]
    prose = [text for title, text in command.sections if title is None]
    if prose:
        lines += [".SH DESCRIPTION", "\n.PP\n".join(map(troff, prose))]
    for title, rows in command.sections:
        if title is None:
            continue
        lines.append(f".SH {title.upper()}")
        for left, right in rows:
            lines += [".TP", f".B {troff(left)}", troff(right) if right else "\\&"]
    also = [child.path for child in command.commands] or [parent] * bool(parent)
    if also:
        lines += [".SH SEE ALSO", ",\n".join(f".BR {troff('-'.join(path))} (1)" for path in also)
                  .replace(",\n", " ,\n")]
    return "\n".join(lines) + "\n"


def key(command):
    return " ".join(command.path)


def bash(root):
    next_command, words, files, values = [], [], [], []
    for command in root.all():
        for child in command.commands:
            next_command.append(f'"{key(child)}"')
        names = [name for option in command.options for name in option.names]
        children = [child.path[-1] for child in command.commands]
        children += ["help"] * (command is root)
        words.append(f'    "{key(command)}") words="{" ".join(children + names)}" ;;')
        for option in command.options:
            cases = "|".join(f'"{key(command)} {name}"' for name in option.names)
            if option.values:
                values.append(f'    {cases}) words="{" ".join(option.values)}" ;;')
            elif option.is_file():
                files.append(cases)
            elif option.kind:
                values.append(f"    {cases}) words= ;;")
    whole = "|".join(next_command)
    new_line = "\n"
    return f"""# bash completion of ringside, made from its --help.
_ringside() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} path=ringside words word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [ "$word" = -- ]; then
      if [ "$previous" = -- ]; then COMPREPLY=($(compgen -c -- "$current")); else compopt -o default; fi
      return
    fi
    case "$path $word" in
    {whole}) path="$path $word" ;;
    esac
  done
  case "$path $previous" in
{new_line.join(values)}
    {"|".join(files)}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")); return ;;
    *) case "$path" in
{new_line.join("  " + line for line in words)}
      esac ;;
  esac
  case $current in
    -*) ;;
    *) [ "$path" = ringside ] || compopt -o default ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _ringside ringside
"""


def zsh_value(option):
    if option.values:
        return f":{option.kind}:({' '.join(option.values)})"
    if option.kind:
        return f":{option.kind}:" + ("_files" if option.is_file() else " ")
    return ""


def zsh(root):
    out = ["#compdef ringside", "# zsh completion of ringside, made from its --help.", ""]
    for command in root.all():
        out += [f"_{'_'.join(command.path).replace('-', '_')}() {{"]
        if command.commands:
            out += ["  local context state line", "  local -a commands=("]
            out += [f"    '{child.path[-1]}:{Option('-x', child.description).brief().rstrip('.')}'"
                    for child in command.commands]
            out += ["  )"]
        arguments = [f"'*{name}[{option.brief()}]{zsh_value(option)}'"
                     for option in command.options for name in option.names]
        if command.commands:
            arguments += ["'1:command:->command'", "'*::argument:->rest'"]
        elif command.takes_command:
            arguments += ["'*::command:_normal'"]
        elif command.takes_files:
            arguments += ["'*:file:_files'"]
        out += ["  _arguments " + " \\\n    ".join(arguments)]
        if command.commands:
            out += ["  case $state in", "    command) _describe command commands ;;",
                    "    rest) case $line[1] in"]
            out += [f"      {child.path[-1]}) _{'_'.join(child.path).replace('-', '_')} ;;"
                    for child in command.commands]
            out += ["    esac ;;", "  esac"]
        out += ["}", ""]
    return "\n".join(out) + '_ringside "$@"\n'


def fish(root):
    out = ["# fish completion of ringside, made from its --help.", "complete -c ringside -f"]
    for command in root.all():
        condition = " && ".join(
            [f"__fish_seen_subcommand_from {word}" for word in command.path[1:]])
        children = " ".join(child.path[-1] for child in command.commands)
        before = " && ".join(filter(None, [condition, f"not __fish_seen_subcommand_from {children}"
                                           if children else ""]))
        for child in command.commands:
            text = Option("-x", child.description).brief().rstrip(".")
            out.append(f"complete -c ringside -n '{before}' -a {child.path[-1]} -d '{text}'")
        if command.takes_files or command.takes_command:
            out.append(f"complete -c ringside -n '{condition}' -F")
        for option in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                             for name in option.names)
            value = f" -x -a '{' '.join(option.values)}'" if option.values else \
                " -r -F" if option.is_file() else " -x" if option.kind else ""
            out.append(f"complete -c ringside -n '{before or 'true'}' {names}{value} -d '{option.brief()}'")
    return "\n".join(out) + "\n"


def main():
    output, program = pathlib.Path(sys.argv[1]), sys.argv[2:]
    version = subprocess.run([*program, "--version"], check=True, stdout=subprocess.PIPE,
                             universal_newlines=True).stdout.strip()
    root = Command(program, ["ringside"])
    (output / "man").mkdir(parents=True, exist_ok=True)
    for command in root.all():
        page = man_page(command, version, command.path[:-1])
        (output / "man" / ("-".join(command.path) + ".1")).write_text(page, encoding="utf-8")
    for name, text in ("ringside", bash(root)), ("_ringside", zsh(root)), ("ringside.fish", fish(root)):
        (output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
