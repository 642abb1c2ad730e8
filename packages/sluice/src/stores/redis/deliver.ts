import type { Answer } from "../../store.js"
import { type Call, decodeAnswers, type SentAsk } from "./call.js"
import type { RedisClient } from "./client.js"
import type { Group } from "./group.js"
import { codeOf, outcomeOf } from "./outcome.js"
import { errorOf, runScript, sleep, storeError } from "./run-script.js"

/** Where calls go, how they are written, and for how many milliseconds one that did not run is tried again. */
export interface Route {
  readonly client: RedisClient
  readonly patience: number
  encode(asks: readonly SentAsk[]): Call
}

/** Answers groups with one call, and those that certainly did not run with another, while they have patience. */
export async function deliver(route: Route, batch: readonly Group[]): Promise<void> {
  let left = batch
  for (let pause = 4; left.length > 0; pause *= 2) {
    let answers: readonly (Answer | Error)[]
    try {
      answers = decodeAnswers(left, await runScript(route.client, route.encode(left)))
    } catch (thrown) {
      // what ended the call is everybody's
      const error = errorOf(thrown)
      answers = left.map(() => error)
    }
    left = settle(route, left, answers)
    if (left.length > 1 && answers.some(isOfManyKeys)) {
      // a slot that is moving answers calls of one key only
      await Promise.all(left.map((group) => deliver(route, [group])))
      return
    }
    if (left.length > 0) {
      const longest = Math.max(...left.map((group) => patienceLeft(route, group)), 1)
      await sleep(Math.min(pause, longest))
    }
  }
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
