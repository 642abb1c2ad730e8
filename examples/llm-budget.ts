// A gateway to a language model that holds each customer to requests and tokens a minute: an estimate is reserved before
// a call, and settled at what the answer, a stream, says at its end that it took.
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { createLimiter, slidingLog, tokenBucket } from "sluice"

/** Milliseconds; shorter here than elsewhere. */
const minute = 3_000

const limiter = createLimiter({
  name: "llm",
  policy: {
    requests: slidingLog({ limit: 60, window: minute }),
    tokens: tokenBucket({ capacity: 1_000, refill: 1_000, every: minute }),
  },
  // store: redisStore(ioredis(client)), for more than one gateway
})

/** Stands in for the model: streams a token at a time, and says at the end how many there were. */
const model = createServer(async (request, response) => {
  const tokens = Number(request.url?.slice(1))
  if (tokens === 0) {
    response.writeHead(500).end()
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (let i = 0; i < tokens; i += 1) response.write(`data: {"text":"word "}\n\n`)
  response.end(`data: {"usage":{"total_tokens":${tokens}}}\n\n`)
})
model.listen(0, "127.0.0.1")
await once(model, "listening")
const { port } = model.address() as AddressInfo

/** Passes an answer on as it comes, and returns what it took. */
async function stream(tokens: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/${tokens}`)
  if (!answer.ok || answer.body === null) throw new Error(`the model answered ${answer.status}`)
  let text = ""
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) text += chunk
  return Number(/"total_tokens":(\d+)/.exec(text)?.[1])
}

async function complete(key: string, estimate: number, actual: number): Promise<void> {
  const reservation = await limiter.reserve(key, { cost: { requests: 1, tokens: estimate } })
  const { allowed, policy, retryAfter } = reservation.decision
  if (!allowed) {
    say(`${estimate} tokens do not fit ${policy} for ${retryAfter} ms: waits`)
    await sleep(retryAfter)
    return complete(key, estimate, actual)
  }
  say(`${estimate} tokens reserved, ${await left(key)}`)
  let used: number
  try {
    used = await stream(actual)
  } catch (error) {
    await reservation.cancel()
    say(`${(error as Error).message}: cancelled, ${await left(key)}`)
    return
  }
  await reservation.settle({ requests: 1, tokens: used })
  say(`${used} tokens used, ${await left(key)}`)
}

async function left(key: string): Promise<string> {
  const { policies = [] } = await limiter.peek(key)
  return policies
    .map(({ policy, remaining }) => `${remaining} ${policy}`)
    .join(" and ")
    .concat(" left")
}

const start = performance.now()
function say(what: string): void {
  console.log(`${((performance.now() - start) / 1_000).toFixed(1).padStart(4)} s  ${what}`)
}

say("an answer shorter than its estimate: the rest is given back")
await complete("org:7", 400, 100)
say("a call that fails: all of it is given back")
await complete("org:7", 400, 0)
say("an answer longer than its estimate: what there is no room for is owed")
await complete("org:7", 400, 1_600)
say("the next one waits until that is paid")
await complete("org:7", 400, 400)

await limiter.close()
model.close()
model.closeAllConnections()
