import type { LineParser } from "./log-line.js"
import { parseTime } from "./parse-time.js"

const quoted = String.raw`"((?:[^"\\]|\\.)*)"`
/** The common and combined formats of nginx and Apache, with or without a virtual host before them. */
const common = new RegExp(
  String.raw`^(?:(\S+:\d+) )?(\S+) (\S+) (\S+) \[([^\]]{20,30})\] ${quoted} (\d{3}|-) (\d+|-)(?: ${quoted} ${quoted})?`,
)
const commonFields = [
  "vhost",
  "address",
  "ident",
  "user",
  "time",
  "request",
  "status",
  "bytes",
  "referer",
  "agent",
]
const headerFields: Readonly<Record<string, string>> = {
  "header:referer": "referer",
  "header:user-agent": "agent",
}

/** Reads the common and combined formats. */
export function commonParser(): LineParser {
  // Lines of one second have the same text there.
  let [lastText, lastTime] = ["", Number.NaN]
  return (line) => {
    const match = common.exec(line)
    if (match === null) return undefined
    const text = match[5] as string
    if (text !== lastText) [lastText, lastTime] = [text, parseTime(text)]
    if (Number.isNaN(lastTime)) return undefined
    return { time: lastTime, field: (name) => commonField(match, headerFields[name] ?? name) }
  }
}

function commonField(match: RegExpExecArray, name: string): string | undefined {
  if (name === "method" || name === "path") {
    const [method, target = ""] = (match[6] as string).split(" ", 2)
    return name === "method" ? method : target.split("?", 1)[0]
  }
  const at = commonFields.indexOf(name)
  const value = at < 0 ? undefined : match[at + 1]
  if (value === "-") return name === "bytes" ? "0" : undefined
  return value
}
