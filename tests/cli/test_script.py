"""weir acquire, renew and release: a lease across commands."""

import json
import os
import subprocess
import sys

from support import check, main


def acquire(weir, *options, name="a"):
    code, out, err = weir.run("acquire", "--json", *options, name)
    check(code == 0 and err == "", "weir acquire works", code, out, err)
    return json.loads(out)


def test_a_script_holds_across_commands(weir):
    script = ("lease=$($WEIR acquire --ttl 1m a) || exit 1\n"
              "eval \"$lease\"\n"
              "$WEIR run -nq a true; echo $?\n"
              "$WEIR renew && $WEIR release; echo $?\n"
              "$WEIR run -nq a echo free\n"
              "$WEIR release; echo $?\n"
              "$WEIR renew; echo $?\n")
    done = subprocess.run(["sh", "-c", script], env=weir.environment | {"WEIR": weir.binary},
                          capture_output=True, text=True, check=False)
    check(done.stdout.split() == ["75", "0", "free", "76", "76"],
          "L3: held, renewed, released, and then lost for ever", done)


def test_acquired_outlives_the_process(weir):
    lease = acquire(weir, "--ttl", "1m")
    shown = weir.show("a")
    check(shown["held"] == 1 and shown["holders"][0]["fence"] == lease["fence"], "it is held")
    check(shown["holders"][0]["id"] == lease["token"][:8], "its id is the token's beginning")
    check(lease["token"] not in weir.run("show", "a")[1] + weir.run("show", "--json", "a")[1],
          "Security 7: tokens are not shown")
    environment = {"WEIR_NAME": "a", "WEIR_TOKEN": lease["token"]}
    check(weir.run("release", env=environment)[0] == 0, "released by another process")
    weir.wait_free()


def test_acquired_ends_with_its_ttl(weir):
    """L3, L9: and a waiter is served then"""
    acquire(weir, "--ttl", "1s")
    check(weir.run("run", "a", "echo", "next")[:2] == (0, "next\n"), "L9")


def test_renew_extends(weir):
    lease = acquire(weir, "--ttl", "2s")
    environment = {"WEIR_NAME": "a", "WEIR_TOKEN": lease["token"]}
    code, out, _ = weir.run("renew", "--json", "--ttl", "10m", env=environment)
    check(code == 0 and json.loads(out)["fence"] == lease["fence"], "L2: renew keeps the fence")
    check("" not in json.loads(out).values(), "what is not known is left out", out)
    check(weir.show("a")["holders"][0]["left"] > 60, "renew extends")
    check(weir.run("renew", "--ttl", "2s", env=environment)[0] == 0, "renew")
    check(weir.show("a")["holders"][0]["left"] > 60, "renew never shortens")


def test_token_from_standard_input(weir):
    lease = acquire(weir)
    path = weir.path("token")
    with open(path, "w", encoding="ascii") as file:
        file.write(lease["token"] + "\n")
    with open(path, encoding="ascii") as file:
        check(weir.run("release", "a", "-", stdin=file)[0] == 0, "the token comes from stdin")
    lease = acquire(weir)
    check(weir.run("release", "a", lease["token"])[0] == 0, "or as an argument")
    check(weir.run("release", "a", "-")[0] == 64, "an empty stdin has none")


def test_a_wrong_token_changes_nothing(weir):
    """L3, CHECKLIST 40"""
    lease = acquire(weir)
    wrong = "0" * 32
    for command in ("renew", "release"):
        code, _, err = weir.run(command, "a", wrong)
        check(code == 76 and "lost" in err, "76 for a token that is not live", command, code, err)
        code, _, err = weir.run(command, "nobody", wrong)
        check(code == 76, "76 for a name that is not there", command, code, err)
        for bad in ("", "x" * 32, lease["token"].upper() + "0", lease["token"][:-1]):
            check(weir.run(command, "a", bad)[0] == 64, "64 for what is no token", bad)
    check(weir.show("a")["holders"][0]["fence"] == lease["fence"], "40: nobody else was touched")


def test_what_comes_too_late_is_counted_as_what_it_is(weir):
    lease = acquire(weir)
    for code in (0, 76):
        check(weir.run("release", "a", lease["token"])[0] == code, "released once")
    code, out, _ = weir.run("doctor")
    check(code == 0 and "1 times" in out and "weir release" in out, "doctor blames no renewal", out)


def test_the_same_request_id_finds_the_same_lease(weir):
    """L4"""
    first = acquire(weir, "--request-id", "job 7")
    second = acquire(weir, "-n", "--request-id", "job 7")
    check((first["token"], first["fence"]) == (second["token"], second["fence"]), "L4", first)
    check(weir.run("acquire", "-nq", "a")[0] == 75, "L4: it counts once")


def test_output_that_cannot_be_written(weir):
    """ENOSPC: reported, and the lease that nobody heard of is given back"""
    with open("/dev/full", "w", encoding="ascii") as full:
        code, _, err = weir.run("acquire", "a", stdout=full)
    check(code == 125 and "No space left" in err, "125, and why", code, err)
    weir.wait_free()

    def closed():
        os.close(1)

    code, _, err = weir.run("acquire", "a", preexec_fn=closed)
    check(code == 125 and err, "a closed standard output is reported", code, err)
    weir.wait_free()


def test_output_for_the_shell(weir):
    owner = "it's \"me\" $HOME `x` \\"
    code, out, _ = weir.run("acquire", "--owner", owner, "dir/a")
    script = out + "printf '%s|%s' \"$WEIR_OWNER\" \"$WEIR_NAME\""
    done = subprocess.run(["sh", "-c", script], env=weir.environment, capture_output=True,
                          text=True, check=False)
    check(code == 0 and done.stdout == owner + "|dir/a", "quoted for every shell", done)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
