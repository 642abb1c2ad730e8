import type { Answer } from "../../store.js"
import { type Call, decodeAnswers, type SentAsk } from "./call.js"
import type { RedisClient } from "./client.js"
import type { Group } from "./group.js"
import { codeOf, outcomeOf } from "./outcome.js"
import { errorOf, runText, sleep, storeError } from "./run-script.js"

/** Where calls go, how they are written, and for how many milliseconds one that did not run is tried again. */
export interface Route {
  readonly client: RedisClient
  readonly patience: number
  encode(asks: readonly SentAsk[]): Call
}

/** Milliseconds until a call that did not run is tried again first; twice as long each time. */
const FIRST_PAUSE = 4

/**
 * Answers groups with one call, and those that certainly did not run with another, while they have patience; then all is
 * `over`. No async function: nearly every call has an answer at once and for good, and the promises of one would
 * take longer than all else here.
 */
export function deliver(
  route: Route,
  batch: readonly Group[],
  over: () => void,
  pause: number = FIRST_PAUSE,
): void {
  const { client } = route
  const answered = (answers: readonly (Answer | Error)[]) => {
    const left = settle(route, batch, answers)
    if (left.length === 0) over()
    else tryAgain(route, left, answers.some(isOfManyKeys), pause).then(over, over)
  }
  // what ended the call is everybody's
  const failed = (thrown: unknown) => answered(new Array(batch.length).fill(errorOf(thrown)))
  const replied = (reply: unknown) => {
    let answers: readonly (Answer | Error)[]
    try {
      answers = decodeAnswers(batch, reply)
    } catch (error) {
      failed(error)
      return
    }
    answered(answers)
  }
  try {
    const { script, keys, args } = route.encode(batch)
    client.runByHash(script.sha, keys, args).then(replied, (thrown: unknown) => {
      if (outcomeOf(thrown) === "unloaded") runText(client, { script, keys, args }).then(replied, failed)
      else failed(thrown)
    })
  } catch (error) {
    failed(error)
  }
}

async function tryAgain(route: Route, left: readonly Group[], alone: boolean, pause: number): Promise<void> {
  const calls = alone && left.length > 1 ? left.map((group) => [group]) : [left]
  if (calls.length === 1) {
    const longest = Math.max(...left.map((group) => patienceLeft(route, group)), 1)
    await sleep(Math.min(pause, longest))
  }
  // a slot that is moving answers calls of one key only
  await Promise.all(
    calls.map(
      (call) => new Promise<void>((over) => deliver(route, call, over, alone ? FIRST_PAUSE : pause * 2)),
    ),
  )
}

/** Hands answers and errors to those who wait for them; what is left to be tried again. */
function settle(route: Route, batch: readonly Group[], answers: readonly (Answer | Error)[]): Group[] {
  return batch.filter((group, i) => {
    const answer = answers[i] as Answer | Error
    if (!(answer instanceof Error)) {
      group.answer(answer)
      return false
    }
    const again = outcomeOf(answer) === "again" && patienceLeft(route, group) > 0
    if (!again) group.fail(storeError(answer))
    return again
  })
}

function patienceLeft({ patience }: Route, { sentAt }: Group): number {
  return patience - (performance.now() - sentAt)
}

function isOfManyKeys(answer: Answer | Error): boolean {
  return answer instanceof Error && codeOf(answer.message) === "TRYAGAIN"
}
