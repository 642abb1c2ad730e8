// A partner's API that takes 100 calls a minute, and not all of them in one second, called by four processes at once.
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { Redis } from "ioredis"
import { leakyBucket, SluiceError } from "sluice"
import { limitedFetch } from "sluice/fetch"
import { ioredis, redisStore } from "sluice/redis"

/** Milliseconds; shorter here than elsewhere, so that nobody has to sit through it. */
const minute = 5_000
const processes = ["A", "B", "C", "D"]
const workersEach = 3
const callsEach = 4

const [partner] = process.argv.slice(2)
if (partner === undefined) await watch()
else await work(partner)

/** One of the processes: several workers, each of which calls as fast as it may. */
async function work(url: string): Promise<void> {
  const { REDIS_URL = "redis://127.0.0.1:6379" } = process.env
  const client = new Redis(REDIS_URL, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  })
  client.on("error", () => {}) // each call says what became of it

  const fetch = limitedFetch({
    name: "partner",
    // a little less than the partner allows, because calls take different times to arrive
    policy: leakyBucket({ capacity: 100, leak: 96, every: minute }),
    store: redisStore(ioredis(client)),
  })

  process.send?.("ready")
  await once(process, "message")
  try {
    const worker = async () => {
      for (let call = 1; call <= callsEach; call += 1) await (await fetch(url)).text()
    }
    await Promise.all(Array.from({ length: workersEach }, worker))
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    process.send?.(`${error.code}: ${error.message}. REDIS_URL tells where Redis listens.`)
  } finally {
    await fetch.close()
    client.disconnect()
    process.disconnect()
  }
}

/** Stands in for the partner, and tells what it has seen. */
async function watch(): Promise<void> {
  const calls: { readonly by: string; readonly at: number }[] = []
  let refused = 0
  const server = createServer((request, response) => {
    const at = performance.now()
    // what the partner counts by, nobody knows
    const within = (ms: number) => calls.filter((call) => call.at > at - ms).length
    const tooOften = within(minute) >= 100 || within(1_000) >= 40
    if (tooOften) refused += 1
    else calls.push({ by: request.url?.slice(1) ?? "", at })
    if (tooOften) response.writeHead(429, { "retry-after": "1" })
    response.end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo

  console.log(
    `${processes.length} processes of ${workersEach} workers, ${callsEach} calls each; a minute is ${minute} ms here`,
  )
  const children = processes.map((name) =>
    fork(fileURLToPath(import.meta.url), [`http://127.0.0.1:${port}/${name}`]),
  )
  await Promise.all(children.map((child) => once(child, "message")))
  const troubles = await Promise.all(children.map(run))
  server.close()
  server.closeAllConnections()

  const [trouble] = troubles.filter((each) => each !== undefined)
  if (trouble !== undefined) {
    console.error(trouble)
    process.exitCode = 1
    return
  }
  const [{ at: start } = { at: 0 }] = calls
  for (let second = 0; calls.some(({ at }) => at - start >= second * 1_000); second += 1) {
    const now = calls.filter(({ at }) => Math.floor((at - start) / 1_000) === second)
    console.log(`${second} s  ${now.map(({ by }) => by).join("")}`)
  }
  const took = (calls.at(-1)?.at ?? 0) - start
  const apart = Math.round(took / (calls.length - 1))
  console.log(`${calls.length} calls, ${apart} ms apart on average, ${refused} refused`)
}

/** Lets a process begin; what it complained of, when it has ended. */
async function run(child: ChildProcess): Promise<string | undefined> {
  let trouble: string | undefined
  child.on("message", (text: string) => {
    trouble = text
  })
  child.send("go")
  await once(child, "exit")
  return trouble
}
