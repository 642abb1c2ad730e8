// Publishes the top keys of this process in the store, and reads those of others.

import { unref, warn } from "../runtime.js"
import type { ReportBoard } from "../store.js"
import type { TopKeysReport } from "./top-keys.js"
import type { TopList } from "./top-list.js"

/** The most bytes that one process publishes. */
const MOST_BYTES = 65_536
/** A report outlives this many pauses between two publications. */
const OUTLIVES = 3

export function publishReports(
  board: ReportBoard,
  pause: number,
  report: (count: number) => TopKeysReport[],
  mostKeys: number,
) {
  const process = crypto.randomUUID()
  let isBusy = false
  let isStopped = false
  let warned = false

  const warnOnce = (message: string) => {
    if (!warned) warn(message)
    warned = true
  }

  const publish = async () => {
    // A store that is slow or down gets one report at a time.
    if (isBusy) return
    isBusy = true
    try {
      const text = encode(report, mostKeys)
      if (text === undefined) warnOnce(`top keys: ${MOST_BYTES} bytes do not hold a line for each limiter`)
      else if (!(await board.publish(process, text, pause * OUTLIVES)))
        warnOnce("top keys: too many processes publish reports, so that this one does not")
    } catch {
      // The next report says the same and more.
    } finally {
      isBusy = false
      if (isStopped) withdraw()
    }
  }

  const withdraw = () => Promise.resolve(board.publish(process, "", 0)).catch(() => {})
  const timer = unref(setInterval(publish, pause))
  return {
    async others(): Promise<TopKeysReport[][]> {
      const found = await board.read()
      return [...found].flatMap(([name, text]) => {
        const reports = name === process ? undefined : decode(text)
        return reports === undefined ? [] : [reports]
      })
    },
    stop(): void {
      if (isStopped) return
      isStopped = true
      clearInterval(timer)
      if (!isBusy) withdraw()
    },
  }
}

/** As many keys of each list as fit. Without keys, a list still says how often each may have been counted. */
function encode(report: (count: number) => TopKeysReport[], mostKeys: number): string | undefined {
  for (let count = mostKeys; ; count = Math.floor(count / 2)) {
    const text = JSON.stringify(report(count))
    if (new TextEncoder().encode(text).length <= MOST_BYTES) return text
    if (count === 0) return undefined
  }
}

/** Undefined for what no process of this version has published. */
function decode(text: string): TopKeysReport[] | undefined {
  try {
    const reports = JSON.parse(text) as TopKeysReport[]
    const isReport = ({ limiter, busiest, denied }: TopKeysReport) =>
      typeof limiter === "string" && isList(busiest) && isList(denied)
    return reports.every(isReport) ? reports : undefined
  } catch {
    return undefined
  }
}

function isList({ keys, total, errorBound, unlisted }: TopList): boolean {
  return (
    areCounts(total, errorBound, unlisted) &&
    keys.every(({ key, count, error }) => typeof key === "string" && areCounts(count, error))
  )
}

function areCounts(...numbers: readonly unknown[]): boolean {
  return numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0)
}
