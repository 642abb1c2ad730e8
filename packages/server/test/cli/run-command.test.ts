import { describe, expect, test } from "vitest"
import { commonOptions } from "../../src/cli/command.js"
import { commandNames } from "../../src/cli/run-command.js"
import { sluice } from "./fake-terminal.js"

describe("sluice", () => {
  test("without a command prints the list of commands and exits with 2", async () => {
    const { code, out } = await sluice([])
    expect(code).toBe(2)
    for (const name of commandNames) expect(out).toContain(`  ${name} `)
  })

  test.each(["help", "--help", "-h"])("%s lists all commands and exits with 0", async (word) => {
    const { code, out, err } = await sluice([word])
    expect([code, err]).toEqual([0, ""])
    for (const name of commandNames) expect(out).toContain(`  ${name} `)
  })

  test("--version prints the version of the package", async () => {
    expect((await sluice(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test("an unknown command is refused with the nearest name", async () => {
    const { code, out, err } = await sluice(["chekc", "api", "alice"])
    expect([code, out]).toEqual([2, ""])
    expect(err).toBe("sluice: unknown command chekc; did you mean check?\n")
  })

  test("a command that resembles nothing is refused without a suggestion", async () => {
    expect((await sluice(["fly"])).err).toBe(
      "sluice: unknown command fly; `sluice help` lists the commands\n",
    )
  })

  test.each(["constructor", "__proto__", "toString"])("%s is an unknown command", async (name) => {
    expect((await sluice([name])).code).toBe(2)
  })

  test("escape sequences in an unknown command do not reach the terminal", async () => {
    expect((await sluice(["\u001b[2J"])).err).not.toContain("\u001b")
  })
})

describe.each(commandNames)("sluice %s", (name) => {
  test("its help names every option and has an example", async () => {
    const { code, out, err } = await sluice([name, "--help"])
    expect([code, err]).toEqual([0, ""])
    const module = (await import(`../../src/cli/${name}.ts`)) as Record<string, { options: object }>
    const { options } = module[`${name}Command`] as { options: object }
    for (const option of Object.keys({ ...options, ...commonOptions })) {
      expect(out).toContain(`--${option.replace("=", " <value>")} `)
    }
    expect(out).toContain(`Usage: sluice ${name}`)
    expect(out).toContain(`sluice ${name} `.trim())
    expect((await sluice(["help", name])).out).toBe(out)
  })

  test("an unknown option is refused with the known ones, and exits with 2", async () => {
    const { code, err } = await sluice([name, "--frobnicate"])
    expect(code).toBe(2)
    expect(err).toContain("unknown option --frobnicate; the options are --")
    expect(err).toContain(`sluice ${name} --help`)
  })

  test("a misspelt option is refused with the nearest one", async () => {
    expect((await sluice([name, "--jsn"])).err).toContain("unknown option --jsn; did you mean --json?")
  })

  test("its help begins with one sentence", async () => {
    expect((await sluice([name, "--help"])).out).toMatch(/^[A-Z].*[^.?][.?]\n\nUsage/)
  })

  test("its help fits a terminal of 140 columns and has no escape sequences", async () => {
    const { out } = await sluice([name, "--help"], { isInteractive: true })
    expect(out).not.toContain("\u001b")
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(140)
  })
})

const misuse: readonly [string[], string][] = [
  [["check", "api"], "check needs a limiter and a key"],
  [["check", "api", ""], "check needs a limiter and a key"],
  [["check", "api", "two", "words"], "got also words"],
  [["check", "api", "alice", "--cost", "-1"], "--cost must be an integer"],
  [["check", "api", "alice", "--cost", "1.5"], "--cost must be an integer"],
  [["check", "api", "alice", "--cost", "NaN"], "--cost must be an integer"],
  [["check", "api", "alice", "--cost", "9007199254740992"], "--cost must be an integer"],
  [["check", "api", "alice", "--cost", "1,2"], "<policy>=<integer>"],
  [["check", "api", "alice", "--cost"], "--cost needs a value"],
  [["check", "api", "alice", "--timeout", "soon"], "--timeout must be a duration"],
  [["check", "api", "alice", "--timeout", "5s", "--peek"], "--peek does not wait"],
  [["check", "api", "alice", "--peek=yes"], "--peek takes no value"],
  [["check", "api", "alice", "--server", "localhost:8080"], "--server must be a URL"],
  [["inspect"], "inspect needs a limiter and a key"],
  [["reset", "api"], "reset needs a limiter and a key"],
  [["rules"], "rules needs one of list, set, block, allow, remove, history"],
  [["rules", "forbid"], "got forbid"],
  [["rules", "block", "api"], "needs either a key or --pattern"],
  [["rules", "block", "api", "alice", "--pattern", "a*"], "needs either a key or --pattern"],
  [["rules", "block", "api", "alice", "bob"], "got also bob"],
  [["rules", "block", "api", "alice", "--policy", "{}"], "rules block takes no --policy"],
  [["rules", "block", "api", "alice", "--until", "tomorrow"], "--until must be a duration"],
  [["rules", "set", "api", "alice"], "rules set needs --policy"],
  [["rules", "set", "api", "alice", "--policy", "{algorithm: magic}"], "algorithm must be one of"],
  [["rules", "list", "api", "more"], "at most the name of a limiter"],
  [["rules", "history", "--count", "0"], "--count must be an integer, 1 or more"],
  [["top", "api", "login"], "at most one limiter"],
  [["top", "--count", "many"], "--count must be an integer"],
  [["validate"], "validate needs a file"],
  [["simulate"], "simulate needs a log file"],
  [["simulate", "a.log", "b.log"], "simulate takes one log"],
  [["simulate", "a.log"], "simulate needs --policy, or --config and --limiter"],
  [["simulate", "a.log", "--policy", "{}", "--limiter", "api"], "--policy takes the place of"],
  [["simulate", "a.log", "--policy", "[1"], "--policy, column"],
  [["simulate", "a.log", "--policy", ""], "--policy, column"],
  [["doctor", "redis://localhost"], "doctor takes no arguments"],
  [["doctor", "--redis", "localhost:6379"], "--redis must be a URL"],
  [["doctor", "--prefix", "a{b}"], "--prefix must be a text without braces"],
  [["library", "more"], "library takes no arguments"],
  [["library", "--name", "--acl"], "exclude each other"],
]

test.each(misuse)("sluice %j is refused as a mistake in the call", async (argv, message) => {
  const { code, out, err } = await sluice(argv)
  expect([code, out]).toEqual([2, ""])
  expect(err).toContain(message)
})
