import { type Command, wantsJson } from "./command.js"
import { json, printable } from "./format.js"
import { clientOf, limiterAndKey, serverOptions } from "./server-options.js"

export const resetCommand: Command = {
  summary: "make a key like new",
  usage: "sluice reset <limiter> <key>",
  options: serverOptions,
  examples: ["sluice reset login alice@example.com"],
  async run(args, terminal) {
    const [limiter, key] = limiterAndKey(args, "reset")
    await clientOf(args, terminal).limiter(limiter).reset(key)
    if (wantsJson(args)) terminal.out(json({ limiter, key, reset: true }))
    else terminal.out(`${printable(key)} of ${printable(limiter)} is like new.\n`)
    return 0
  },
}
