// A gateway to a language model that holds each organisation and each user to tokens a minute. It reserves an estimate
// before a call, and settles it at what the streamed answer came to.
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { combine, createLimiter, fixedWindow, memoryStore, slidingLog, tokenBucket } from "sluice"
import { type Piece, payForStream, Refused } from "./pay-for-stream.js"

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
    response.writeHead(429).end()
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (let i = 0; i < tokens; i += 1) response.write(`data: {"text":"word "}\n\n`)
  response.end(`data: {"usage":{"total_tokens":${tokens}}}\n\n`)
})
model.listen(0, "127.0.0.1")
await once(model, "listening")
const { port } = model.address() as AddressInfo

/** The pieces of an answer of the model, as they come. */
async function* answerOf(tokens: number): AsyncGenerator<Piece> {
  const reply = await fetch(`http://127.0.0.1:${port}/${tokens}`)
  if (!reply.ok || reply.body === null) throw new Refused(`the model answered ${reply.status}`)
  let rest = ""
  for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split("\n\n")
    rest = events.pop() ?? ""
    for (const event of events) {
      const { text, usage } = JSON.parse(event.slice("data: ".length))
      yield usage ? { total: usage.total_tokens } : { text, tokens: 1 }
    }
  }
}

/** A client that disconnects when it has so many pieces. */
function clientFor(pieces: number): () => void {
  let got = 0
  return () => {
    got += 1
    if (got >= pieces) throw new Error("the client has disconnected")
  }
}

async function complete(key: string, estimate: number, actual: number, send: () => void): Promise<void> {
  const reservation = await limiter.reserve(key, { cost: { requests: 1, tokens: estimate } })
  const { allowed, policy, retryAfter } = reservation.decision
  if (!allowed) {
    say(`${estimate} tokens do not fit ${policy} for ${retryAfter} ms: waits`)
    await sleep(retryAfter)
    return complete(key, estimate, actual, send)
  }
  say(`${estimate} tokens reserved, ${await left(key)}`)
  try {
    const used = await payForStream(reservation, answerOf(actual), send)
    say(`${used} tokens used, ${await left(key)}`)
  } catch (error) {
    say(`${(error as Error).message}, ${await left(key)}`)
  }
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

const patient = () => {}
say("an answer shorter than its estimate: the rest is given back")
await complete("org:7", 400, 100, patient)
say("a call that the model refuses: all of it is given back")
await complete("org:7", 400, 0, patient)
say("a client that disconnects before the end: it pays for what was streamed")
await complete("org:8", 400, 300, clientFor(299))
say("an answer longer than its estimate: what there is no room for is owed")
await complete("org:7", 400, 1_600, patient)
say("the next one waits until that is paid")
await complete("org:7", 400, 400, patient)

say("an organisation and one of its users together: both are charged, or neither")
const store = memoryStore()
const daily = { tokens: fixedWindow({ limit: 1_000, window: "1d" }) }
const organisations = createLimiter({ name: "organisations", policy: daily, store })
const users = createLimiter({ name: "users", policy: daily, store })
const [org, user, estimate, used] = ["acme", "ann", 400, 250]
const both = combine([
  organisations.on(org, { cost: { tokens: estimate } }),
  users.on(user, { cost: { tokens: estimate } }),
])
const reservation = await both.reserve()
say(`reserved: ${reservation.decision.allowed}`)
await reservation.settle({ "organisations:tokens": used, "users:tokens": used })
say(`${(await both.peek()).remaining} tokens left`)

await limiter.close()
model.close()
model.closeAllConnections()
