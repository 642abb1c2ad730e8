/** A line of a log that was understood. */
export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** A field by name, or undefined if the line does not have it. */
  field(name: string): string | undefined
}

/** Turns a line into fields. Undefined if it is not of this format. */
export type LineParser = (line: string) => LogLine | undefined

/** A line that belongs to the format and is no request. */
export const skipped: LogLine = { time: Number.NaN, field: () => undefined }
