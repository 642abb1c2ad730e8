import { commonParser } from "./common-format.js"
import { csvParser } from "./csv-format.js"
import { jsonParser } from "./json-format.js"
import type { LineParser } from "./log-line.js"

export const logFormats = ["common", "json", "csv"] as const
export type LogFormat = (typeof logFormats)[number]

/** The format that a line fits. Undefined if it fits none: the first line of a rotated log may be cut. */
export function detectFormat(line: string, timeField: string | undefined): LogFormat | undefined {
  return logFormats.find((format) => createParser(format, timeField)(line) !== undefined)
}

/** A parser for a format. `timeField` names the field with the time, where the format does not fix it. */
export function createParser(format: LogFormat, timeField: string | undefined): LineParser {
  return { common: commonParser, json: () => jsonParser(timeField), csv: () => csvParser(timeField) }[
    format
  ]()
}
