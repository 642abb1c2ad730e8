import { library } from "sluice/redis"
import { aclLines } from "../doctor/rights.js"
import { type Command, UsageError, wantsJson } from "./command.js"
import { json } from "./format.js"

export const libraryCommand: Command = {
  summary: "print the Lua library, for an operator to load into Redis",
  usage: "sluice library [--name | --acl]",
  options: {
    name: "print the name of the library",
    acl: "print the rights that a Redis user needs",
  },
  examples: [
    "sluice library | redis-cli -x FUNCTION LOAD",
    "redis-cli FUNCTION LIST LIBRARYNAME $(sluice library --name)",
    "sluice library --acl",
  ],
  async run(args, terminal) {
    if (args.words.length > 0) throw new UsageError(`library takes no arguments, got ${args.words[0]}`)
    const [name, acl] = [args.options.has("name"), args.options.has("acl")]
    if (name && acl) throw new UsageError("--name and --acl exclude each other")
    if (wantsJson(args)) terminal.out(json({ ...library, acl: aclLines }))
    else if (name) terminal.out(`${library.name}\n`)
    else if (acl) terminal.out(rights())
    else terminal.out(library.text)
    return 0
  },
}

function rights(): string {
  const { loadedInAdvance, loadsItself, rules, topKeys } = aclLines
  return [
    "# The library is loaded in advance, with `sluice library | redis-cli -x FUNCTION LOAD`:",
    loadedInAdvance,
    "",
    "# The application loads the library itself:",
    loadsItself,
    "",
    "# For `sluice serve` and applications that use rules, add:",
    rules,
    "",
    "# For applications that publish their top keys, add:",
    topKeys,
    "",
  ].join("\n")
}
