import type { Answer } from "../../store.js"
import type { Call, SentAsk } from "./call.js"
import type { RedisClient } from "./client.js"
import type { Group } from "./group.js"
import { codeOf, outcomeOf } from "./outcome.js"
import { decodeAnswers } from "./reply.js"
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
 * `over`. No async function: nearly every call is answered once and for good, and needs none of the promises of one.
 */
export function deliver(
  route: Route,
  batch: readonly Group[],
  over: () => void,
  pause: number = FIRST_PAUSE,
): void {
  const { client } = route
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
  const answered = (answers: readonly (Answer | Error)[]) => {
    let left: readonly Group[] = []
    try {
      left = settle(route, batch, answers)
    } finally {
      // nobody who is told throws; if one did, the next call would still not wait for this one
      if (left.length === 0) over()
    }
    if (left.length > 0) tryAgain(route, left, answers.some(isOfManyKeys), pause).then(over, over)
  }
  // what ended the call is everybody's
  const failed = (thrown: unknown) => answered(new Array(batch.length).fill(errorOf(thrown)))
  try {
    const { script, keys, args } = route.encode(batch)
    // as runScript does, with one promise less
    client.runByHash(script.sha, keys, args).then(replied, (thrown: unknown) => {
      if (outcomeOf(thrown) === "unloaded") runText(client, { script, keys, args }).then(replied, failed)
      else failed(thrown)
    })
  } catch (error) {
    failed(error)
  }
}

async function tryAgain(
  route: Route,
  left: readonly Group[],
  ofManyKeys: boolean,
  pause: number,
): Promise<void> {
  const again = (batch: readonly Group[], nextPause: number) =>
    new Promise<void>((over) => deliver(route, batch, over, nextPause))
  if (ofManyKeys && left.length > 1) {
    // a slot that is moving answers calls of one key only
    await Promise.all(left.map((group) => again([group], FIRST_PAUSE)))
    return
  }
  const longest = Math.max(...left.map((group) => patienceLeft(route, group)), 1)
  await sleep(Math.min(pause, longest))
  await again(left, pause * 2)
}

/** Hands answers and errors to those who wait for them; what is left to be tried again. */
function settle(route: Route, batch: readonly Group[], answers: readonly (Answer | Error)[]): Group[] {
  const left: Group[] = []
  for (let i = 0; i < batch.length; i += 1) {
    const group = batch[i] as Group
    const answer = answers[i] as Answer | Error
    if (!(answer instanceof Error)) group.answer(answer)
    else if (outcomeOf(answer) === "again" && patienceLeft(route, group) > 0) left.push(group)
    else group.fail(storeError(answer))
  }
  return left
}

function patienceLeft({ patience }: Route, { sentAt }: Group): number {
  return patience - (performance.now() - sentAt)
}

function isOfManyKeys(answer: Answer | Error): boolean {
  return answer instanceof Error && codeOf(answer.message) === "TRYAGAIN"
}
