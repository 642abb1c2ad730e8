import { loadSources } from "../config/load.js"
import { ConfigError, problemText } from "../config/problems.js"
import { readConfig } from "../config/read-config.js"
import { limiterConfigs } from "../engine.js"
import { type Command, UsageError, wantsJson } from "./command.js"
import { count, json, painter } from "./format.js"

export const validateCommand: Command = {
  summary: "check configuration files",
  usage: "sluice validate <file or folder>... [--json]",
  options: {},
  examples: ["sluice validate sluice.yaml", "sluice validate /etc/sluice --json"],
  async run(args, terminal) {
    if (args.words.length === 0) throw new UsageError("validate needs a file, or a folder of .yaml files")
    const paint = painter(terminal)
    try {
      const sources = loadSources(args.words)
      const config = readConfig(sources, terminal.env)
      const sums = { files: sources.length, limiters: config.limiters.size, domains: config.domains.size }
      if (wantsJson(args)) {
        terminal.out(json({ valid: true, problems: [], ...sums, names: [...limiterConfigs(config).keys()] }))
      } else {
        const found = Object.entries(sums).map(([what, number]) => `${what}: ${count(number)}`)
        terminal.out(`${paint("green", "ok")}, ${found.join(", ")}\n`)
      }
      return 0
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const { problems } = error
      if (wantsJson(args)) terminal.out(json({ valid: false, problems }))
      else for (const problem of problems) terminal.out(`${problemText(problem)}\n`)
      return 1
    }
  },
}
