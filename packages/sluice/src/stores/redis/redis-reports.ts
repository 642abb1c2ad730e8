import { type ReportBoard, reportLimits } from "../../store.js"
import type { RedisClient } from "./client.js"
import { ownScript } from "./own-script.js"

/** Keeps the reports of processes in a hash beside the state. They expire. */
export function redisReports(client: RedisClient, prefix: string): ReportBoard {
  const run = ownScript(client, "reports", [`${prefix}:{reports}now`, `${prefix}:{reports}expiry`])
  return {
    async publish(process, report, lasts) {
      const most = String(reportLimits.MOST_REPORTS)
      const [isPublished] = await run("publish", process, report, String(lasts), most)
      return Number(isPublished) === 1
    },
    async read() {
      const texts = (await run("read")).map(String)
      const reports = new Map<string, string>()
      for (let i = 0; i < texts.length; i += 2) reports.set(texts[i] as string, texts[i + 1] as string)
      return reports
    },
  }
}
