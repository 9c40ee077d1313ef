"""The command line: help, wrong usage, and that all texts come from one table."""

import os
import re
import subprocess
import sys

from support import check, main

COMMANDS = ["run", "acquire", "renew", "release", "ls", "show", "limit", "evict", "doctor", "store"]


def fits_a_screen(text):
    lines = text.splitlines()
    return len(lines) <= 24 and all(len(line) <= 80 for line in lines)


def test_help_fits_a_screen(weir):
    code, out, err = weir.run("--help")
    check(code == 0 and err == "" and fits_a_screen(out), "section 7: --help fits a screen", out)
    for command in COMMANDS:
        check(f"weir {command} " in out, "--help lists every command", command)
        code, text, err = weir.run(command, "--help")
        check(code == 0 and err == "" and fits_a_screen(text), "each --help fits a screen", text)
        check(weir.run("help", command)[1] == text, "weir help CMD is the same")


def test_options_of_a_store(weir):
    """What is wrong with an option is said of that one, with what there is instead; never a part of a password"""
    path = weir.path("x.db")
    for option, words in (("mx_ttl=1s", ["option mx_ttl", "sqlite: has", "max_ttl"]),
                          ("max_ttl=1s&colour", ["option colour", "no value"]),
                          ("a=1&a=2", ["option a", "twice"]), ("max_ttl=1s&max_ttl=2s", ["option max_ttl", "twice"])):
        code, _, err = weir.run("ls", "--store", f"sqlite:{path}?{option}")
        check(code == 64 and all(word in err for word in words), "the option is named", option, err)
    for option in "ret=x@h/1", "ret@h/1", "ret=1&ret=2@h":
        code, _, err = weir.run("ls", "--store", f"sqlite:sec?{option}")
        check(code == 64 and "ret" not in err and "sec" not in err and "%3F" in err, "but no password", option, err)


def test_kinds_of_stores(weir):
    """Whoever mistypes one learns which there are, and how they are written; what was typed may be a password"""
    code, _, err = weir.run("ls", "--store", "secret:x@host")
    check(code == 64 and " sqlite:" in err and "secret" not in err, "those of this build", err)
    code, _, err = weir.run("ls", "--store", "/tmp/secret")
    check(code == 64 and "sqlite:PATH" in err and "redis://HOST" in err and "secret" not in err, "all of them", err)
    for option in ("--owner", "--request-id"):
        code, _, err = weir.run("acquire", option, "J\u00f6rg", "a")
        check(code == 64 and "ASCII" in err, "what is wrong with a name that can be printed", option, err)


def test_an_empty_store(weir):
    """Whoever names a store by a variable that is not set does not get another one; an empty WEIR_STORE is none"""
    named = {"WEIR_STORE": f"sqlite:{weir.path('named.db')}"}
    for words in (["run", "a", "true"], ["acquire", "a"], ["ls"], ["limit", "a", "1"], ["doctor"], ["store", "init"]):
        for option in (["--store", ""], ["--store="]):
            for environment in ({}, named):
                code, out, err = weir.run(words[0], *option, *words[1:], env=environment)
                check(code == 64 and out == "" and "--store" in err and err.count("\n") == 1,
                      "an empty --store is wrong usage", words, code, err)
    check(not os.path.exists(weir.environment["XDG_STATE_HOME"]) and not os.path.exists(weir.path("named.db")),
          "and nothing is made")
    check(weir.run("limit", "a", "2", env={"WEIR_STORE": ""})[0] == 0 and weir.run("limit", "a")[1] == "2\n",
          "an empty WEIR_STORE is as none")


def test_request_id_is_not_for_run(weir):
    """L1: two runs of one id would run at once with one permit"""
    for words in (["--request-id", "job"], ["--request-id=job"]):
        code, out, err = weir.run("run", *words, "a", "echo", "ran")
        check(code == 64 and out == "" and "leave it out" in err and "weir acquire --request-id" in err,
              "what to do is said", code, out, err)
    check("request-id" not in weir.run("run", "--help")[1], "no word of it in the help of run")
    check("request-id" in weir.run("acquire", "--help")[1], "but in that of acquire")


def test_help_manual_and_completions_agree(weir):
    docs = os.path.join(os.path.dirname(weir.binary), "weir-docs")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../man/weir.1.in")
    page = subprocess.run([docs, "man", source], capture_output=True, text=True, check=True).stdout
    bash = subprocess.run([docs, "bash"], capture_output=True, text=True, check=True).stdout
    zsh = subprocess.run([docs, "zsh"], capture_output=True, text=True, check=True).stdout
    check("@OPTIONS" not in page, "the page is complete")
    plain = re.sub(r"\\f.|\\", "", page)
    for command in COMMANDS:
        text = weir.run(command, "--help")[1]
        check(f"weir {command}" in plain, "the manual has every command", command)
        for option in re.findall(r"--[a-z-]+", text.split("\n\n", 1)[1]):
            check(option in plain, "the manual has every option", command, option)
            check(option in bash and option in zsh, "completions have every option", option)


def test_cp_is_the_copier(weir):
    docs = os.path.join(os.path.dirname(weir.binary), "weir-docs")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../man/weir-cp.1.in")
    page = subprocess.run([docs, "man", source], capture_output=True, text=True, check=True).stdout
    plain = re.sub(r"\\f.|\\", "", page)
    bash = subprocess.run([docs, "bash"], capture_output=True, text=True, check=True).stdout
    zsh = subprocess.run([docs, "zsh"], capture_output=True, text=True, check=True).stdout
    check("weir cp " in weir.run("--help")[1], "--help lists every command", "cp")
    code, text, err = weir.run("cp", "--help")
    check(code == 0 and err == "" and text.startswith("Usage: weir cp "), "weir cp --help", text)
    check(all(len(line) <= 80 for line in text.splitlines()), "80 columns are enough for it", text)
    check(weir.run("help", "cp")[1] == text, "weir help cp is the same")
    for option in re.findall(r"^  .. (--[a-z-]+)", text, re.M):
        check(option in plain, "the manual has every option of cp", option)
        check(option in bash and option in zsh, "completions have every option of cp", option)
    with open(weir.path("one"), "w", encoding="ascii") as file:
        file.write("content")
    code, out, err = weir.run("cp", "-a", weir.path("one"), weir.path("two"))
    check((code, out, err) == (0, "", ""), "weir cp copies", err)
    with open(weir.path("two"), encoding="ascii") as file:
        check(file.read() == "content", "weir cp copies")
    check(re.search(r"; 7B in [0-9.]+ s, [0-9.]+[BKM]/s;", weir.run("cp", "--stats", weir.path("one"),
                                                                 weir.path("two"))[1]), "a size has a unit")
    check("auto|reflink" in plain, "a value is written in the manual as on the command line")
    code, out, err = weir.run("cp", "-a", weir.path("none"), weir.path("three"))
    check(code == 23 and err.startswith("weir cp: "), "its exit codes are weir-cp's", code, err)
    code, out, err = weir.run("cp", "--nonsense", "a", "b")
    check(code == 64 and "weir cp --help" in err, "wrong usage of cp", code, err)
    check(weir.run("cp", "-h")[1] == text, "weir cp -h is the same as --help")
    code, out, err = weir.run("cp", "--copy-method", "magic", "a", "b")
    check(code == 64 and "'magic'" in err and "auto|reflink" in err, "what cp takes is said", err)


def test_version(weir):
    code, out, _ = weir.run("--version")
    check(code == 0 and re.fullmatch(r"weir \d+\.\d+\.\d+\n", out), "--version", out)


WRONG = [
    [],
    ["nonsense"],
    ["--nonsense"],
    ["run"],
    ["run", "a"],
    ["run", "a", "--"],
    ["run", "--nonsense", "a", "true"],
    ["run", "-Z", "a", "true"],
    ["run", "-w"],
    ["run", "-w", "soon", "a", "true"],
    ["run", "-w", "-1", "a", "true"],
    ["run", "-w", "1e3", "a", "true"],
    ["run", "-w", "99999999999999999999", "a", "true"],
    ["run", "-w", "", "a", "true"],
    ["run", "-E", "256", "a", "true"],
    ["run", "-E", "x", "a", "true"],
    ["run", "-j", "0", "a", "true"],
    ["run", "-j", "-1", "a", "true"],
    ["run", "-j", "two", "a", "true"],
    ["run", "-j", "99999999999", "a", "true"],
    ["run", "-j", "10001", "a", "true"],
    ["run", "--weight", "0", "a", "true"],
    ["run", "--weight", "2", "a", "true"],
    ["run", "--ttl", "0", "a", "true"],
    ["run", "--ttl", "10ms", "a", "true"],
    ["run", "--ttl", "2h", "a", "true"],
    ["run", "--max-hold", "0", "a", "true"],
    ["run", "-k", "20s", "a", "true"],
    ["run", "-s", "NOSUCH", "a", "true"],
    ["run", "-s", "0", "a", "true"],
    ["run", "--nonblock=yes", "a", "true"],
    ["run", "-c", "true", "a", "true"],
    ["run", "a", "-c"],
    ["run", "a", "-c", "true", "more"],
    ["run", "--id"],
    ["run", "--owner", "x" * 201, "a", "true"],
    ["run", "--owner", "new\nline", "a", "true"],
    ["acquire", "--request-id", "x" * 201, "a"],
    ["run", "--request-id", "job", "a", "true"],
    ["run", "", "true"],
    ["run", "new\nline", "true"],
    ["run", "x" * 201, "true"],
    ["run", "caf\u00e9", "true"],
    ["run", "with blank", "true"],
    ["run", "a;b", "true"],
    ["acquire"],
    ["acquire", "a", "b"],
    ["acquire", "with blank"],
    ["renew"],
    ["release"],
    ["release", "a", "no-token"],
    ["release", "a", "b", "c"],
    ["ls", "with blank"],
    ["show"],
    ["show", "nobody"],
    ["limit"],
    ["limit", "a", "many"],
    ["limit", "a", "-3"],
    ["limit", "a", "10001"],
    ["limit", "a", "1", "2"],
    ["limit", "nobody"],
    ["evict"],
    ["evict", "a"],
    ["evict", "a", "--all", "12345678"],
    ["evict", "nobody", "--all"],
    ["evict", "a", "xyz"],
    ["doctor", "more"],
    ["store"],
    ["store", "init", "more"],
    ["store", "init", "--grant", "app"],
    ["run", "--store", "nonsense:", "a", "true"],
    ["run", "--store", "sqlite:", "a", "true"],
    ["run", "--store", "/tmp/without-a-scheme", "a", "true"],
]


def test_wrong_usage_is_64_and_a_sentence(weir):
    check(weir.run("limit", "a", "1")[0] == 0, "a semaphore to be wrong about")
    for arguments in WRONG:
        code, out, err = weir.run(*arguments)
        check(code == 64, "section 7: wrong usage is 64", arguments, code, out, err)
        check(out == "" and err.startswith("weir: ") and err.endswith("\n"), "a message says it",
              arguments, err)
        check(err.count("\n") == 1, "one line, whatever is in the name", arguments, err)


def test_bounds_are_said_as_they_are(weir):
    """With the option, and in the units in which people write them"""
    for option, value, words in (("--ttl", "10ms", "--ttl) is from 1s to 1h here, not 10ms"),
                                 ("--ttl", "500us", "not 500us"), ("--ttl", "0.0000015", "not 1500ns"),
                                 ("--ttl", "90m", "--ttl) is from 1s to 1h here, not 90m"),
                                 ("--limit", "0", "--limit: '0' is not a whole number from 1 to"),
                                 ("--weight", "99999999999", "10000 by default"), ("-j", "10001", "1 to 10000")):
        code, _, err = weir.run("run", option, value, "a", "true")
        check(code == 64 and words in err and "2147483647" not in err, "what may be", option, value, err)


def test_double_dash_and_option_injection(weir):
    """CHECKLIST 96"""
    run = weir.run
    check(run("run", "a", "printf", "%s,", "-j", "--", "-x")[1] == "-j,--,-x,",
          "96: what follows NAME belongs to the command")
    check(run("run", "a", "--", "printf", "%s,", "--")[1] == "--,",
          "96: only the first -- is weir's")
    check(run("run", "--", "-n", "echo", "x")[1] == "x\n", "96: -n is a name after --")
    check(run("run", "--id", "a", "echo", "x")[1] == "x\n", "--id replaces NAME")
    check(run("run", "--id=a", "--", "echo", "x")[1] == "x\n", "--id=NAME")
    check(run("run", "-nqj1", "a", "echo", "x")[1] == "x\n", "letters in one word")


def test_durations(weir):
    holder = weir.holder()
    for text in ["0", "0.01", "10ms", "0.0s", "00.001m", "100us"]:
        check(weir.run("run", "-q", "-w", text, "a", "true") == (75, "", ""), "durations", text)
    weir.let_go(holder)


def test_bash_completion(weir):
    docs = os.path.join(os.path.dirname(weir.binary), "weir-docs")
    weir.run("limit", "api/one", "2")
    with open(weir.path("weir.bash"), "w", encoding="utf-8") as file:
        subprocess.run([docs, "bash"], stdout=file, check=True)

    weir.run("limit", "own:two", "2")

    def complete(*words):
        function = words[0].replace("-", "_")
        script = (f"PATH={os.path.dirname(weir.binary)}:$PATH; source {weir.path('weir.bash')}; COMP_WORDBREAKS=' =:'; "
                  f"COMP_WORDS=({' '.join(repr(word) for word in words)}); "
                  f"COMP_CWORD={len(words) - 1}; _{function}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        return subprocess.run(["bash", "-c", script], env=weir.environment, text=True,
                              capture_output=True, check=True).stdout.splitlines()

    check(complete("weir", "ac") == ["acquire"], "commands", complete("weir", "ac"))
    check(complete("weir", "run", "--nonb") == ["--nonblock"], "options")
    check(complete("weir", "run", "ap") == ["api/one"], "names", complete("weir", "run", "ap"))
    check("sleep" in complete("weir", "run", "-j", "2", "api/one", "slee"), "commands after NAME")
    check("INT" in complete("weir", "run", "-s", "I"), "signals")
    check(complete("weir", "show", "--wat") == ["--watch"], "options of show")
    check(complete("weir", "cp", "--arch") == ["--archive"], "options of cp")
    check("/etc/passwd" in complete("weir", "cp", "-a", "/etc/passw"), "files for cp")
    check(complete("weir", "store", "") == ["init"], "the one thing to do with a store", complete("weir", "store", ""))
    check(complete("weir", "doctor", "") == [""], "nothing", complete("weir", "doctor", ""))
    check(complete("weir", "run", "ow") == ["own:two"], "a name with a colon")
    for words in ("own", ":"), ("own", ":", "t"):
        check(complete("weir", "run", *words) == ["two"], "of which a part is there", words, complete("weir", "run", *words))
    check("sleep" in complete("weir", "run", "own", ":", "two", "slee"), "and after it")
    for words in ("--store", "post"), ("--store", "=", "post"):
        check(complete("weir", "ls", *words) == ["postgres://"], "stores", words, complete("weir", "ls", *words))
    check("redis://" in complete("weir", "ls", "--store", "="), "all of them")
    check("/etc/passwd" in complete("weir", "ls", "--store", "sqlite", ":", "/etc/passw"), "the file of a store")
    check(complete("weir", "ls", "--store", "sqlite", ":", "/a", "--js") == ["--json"], "and after it")
    check(complete("weir-cp", "--arch") == ["--archive"], "options of weir-cp")
    check("/etc/passwd" in complete("weir-cp", "-a", "/etc/passw"), "files for weir-cp")
    for words in ("weir", "cp"), ("weir-cp",):
        found = complete(*words, "--copy-method", "re")
        check(found == ["reflink", "read-write"], "values of an option of cp", words, found)
        check(complete(*words, "--threads", "") == [""], "of which some cannot be listed", words)
    os.mkdir(weir.path("with blanks in it"))
    for words in ("cp", "-a"), ("run", "api/one", "ls"):
        found = complete("weir", *words, weir.path("with"))
        check(found == [weir.path("with blanks in it")], "a name with blanks is one name", words, found)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
