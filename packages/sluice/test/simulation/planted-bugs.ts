import { type MemoryStore, SluiceError, type Store } from "sluice"
import type { RedisClient } from "sluice/redis"
import type { StoreReply } from "sluice/store"
import { countings } from "../../src/algorithms/index.js"
import { isPromise } from "../../src/deferred.js"
import { Breaker } from "../../src/layers/breaker.js"
import { Deadlines } from "../../src/layers/deadlines.js"
import { Block, Lease } from "../../src/layers/leased-key.js"
import { Coalesced } from "../../src/stores/redis/batcher.js"
import { Line } from "../../src/waiting/line.js"
import { QueueRoom } from "../../src/waiting/queue-room.js"
import { MAX_WAITS } from "./shape.js"
import type { Bug } from "./world.js"

/** Replaces a method until what it returns is called. */
function patched<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (was: T[K]) => T[K],
): () => void {
  const was = target[name]
  target[name] = make(was)
  return () => {
    target[name] = was
  }
}

/** What clients say when they do not know. */
function isUnknown(error: unknown): boolean {
  return /closed|ECONNRESET|max retries|timed out|timeout/.test(String((error as Error).message))
}

/** A bug that somebody might make. With a `law`, that is the one that must find it. */
type PlantedBug = Bug & { readonly name: string; readonly law?: string }

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "what may have run is sent again",
    client: (client) => ({
      ...client,
      run: (...call) =>
        client.run(...call).catch((error: unknown) => {
          if (isUnknown(error)) return client.run(...call)
          throw error
        }),
    }),
  },
  {
    name: "what may have run is called refused",
    client: (client: RedisClient) => ({
      ...client,
      run: (...call) =>
        client.run(...call).catch((error: unknown) => {
          throw isUnknown(error) ? new Error("The client is closed") : error
        }),
    }),
  },
  {
    name: "what was granted too late is kept",
    beneathOutage: (store) => ({
      ...store,
      giveBack: (policies, at) => (at === undefined ? store.giveBack(policies) : undefined),
    }),
  },
  {
    name: "a block is spent after its end",
    install: () => patched(Block.prototype, "isOver", () => () => false),
  },
  {
    name: "blocks are as large as they like",
    install: () => patched(Lease.prototype, "wanted", () => () => 50),
  },
  {
    name: "a denial is remembered for too long",
    aboveDenyCache: (cache) => rememberingFor(3_000, cache),
  },
  {
    name: "a denial is remembered through a reset",
    aboveDenyCache: (cache, store) => ({
      ...cache,
      forget: (stateRefs) => store.forget(stateRefs),
      giveBack: (policies, at) => store.giveBack(policies, at),
    }),
  },
  {
    name: "of equal asks one too many is granted",
    install: () =>
      patched(
        Coalesced.prototype,
        "answer",
        (was) =>
          function (this: Coalesced, reply) {
            const short = this.size > 1 && reply.granted < this.size
            was.call(this, short ? { ...reply, granted: reply.granted + 1 } : reply)
          },
      ),
  },
  {
    name: "a breaker never closes",
    install: () =>
      patched(
        Breaker.prototype,
        "succeeded",
        (was) =>
          function (this: Breaker) {
            if (!this.isOpen) was.call(this)
          },
      ),
  },
  {
    name: "a store that is given up is asked all the same",
    install: () => patched(Breaker.prototype, "admits", () => () => true),
  },
  {
    name: "callers are given up too soon",
    install() {
      const over = new WeakSet<object>()
      const undoAdd = patched(Deadlines.prototype, "add", () => (due) => {
        setTimeout(() => {
          if (!over.has(due)) due.expire()
        }, 50)
      })
      const undoRemove = patched(Deadlines.prototype, "remove", () => (due) => {
        over.add(due)
      })
      return () => {
        undoAdd()
        undoRemove()
      }
    },
  },
  {
    name: "deadlines are not kept",
    install: () => patched(Deadlines.prototype, "add", () => () => {}),
  },
  {
    name: "what was spent without the store is not charged to it",
    beneathOutage: (store) => ({
      ...store,
      decide(request) {
        // those of callers may lie as far ahead as their turns
        const isCallers = MAX_WAITS.includes((request.maxWait ?? 0) / 1_000)
        return request.mode === "charge" && !isCallers
          ? { granted: 1, levels: [], at: 0 }
          : store.decide(request)
      },
    }),
  },
  {
    name: "a turn that was given back goes to two",
    server: (store) => {
      const left = new Set<number>()
      return changed(store, {
        leave(turn) {
          store.leave(turn)
          left.add(turn.at)
        },
        decide(request) {
          const reply = store.decide(request)
          const { granted, at, turn = at, receipt = [] } = reply
          // the next one gets it as well
          if (request.mode === "book" && granted > 0 && turn > at && left.has(turn))
            store.leave({ policies: request.policies, at: turn, receipt })
          return reply
        },
      })
    },
  },
  {
    name: "what is given back counts twice",
    server: (store) =>
      changed(store, {
        giveBack: (policies, at) =>
          store.giveBack(
            policies.map((policy) => ({ ...policy, cost: policy.cost * 2 })),
            at,
          ),
      }),
  },
  {
    name: "a reservation can be settled twice",
    server: (store) => {
      const settled = new Set<string>()
      return changed(store, {
        settle(settlement) {
          const name = settlement.ref.ref.id
          if (!store.settle(settlement) && !settled.has(name)) return false
          settled.add(name)
          return true
        },
      })
    },
  },
  {
    name: "timers are not cleared",
    install: () => patched(globalThis, "clearTimeout", () => () => {}),
  },
  {
    name: "a denial spends",
    server: (store) =>
      changed(store, {
        decide(request) {
          const reply = store.decide(request)
          if (request.mode === "spend" && reply.granted === 0)
            store.decide({ ...request, mode: "charge", maxWait: 0 })
          return reply
        },
      }),
  },
  {
    name: "turns come too soon",
    install: () =>
      patched(
        Line.prototype,
        "serve",
        (was) =>
          function (this: Line, now) {
            return was.call(this, now + 1_000)
          },
      ),
  },
  {
    name: "the turns of those who give up are kept",
    install: () => patched(Line.prototype, "leftOver", () => () => undefined),
  },
  {
    name: "a full queue refuses before the store is asked",
    law: "no request that the store would grant now is refused because of waiters",
    install() {
      const places = new WeakMap<QueueRoom, number>()
      const undoTake = patched(
        QueueRoom.prototype,
        "take",
        (was) =>
          function (this: QueueRoom, key) {
            places.set(this, (places.get(this) ?? 0) + 1)
            const release = was.call(this, key)
            let isHeld = true
            return () => {
              if (isHeld) places.set(this, (places.get(this) as number) - 1)
              isHeld = false
              release()
            }
          },
      )
      const undoHasRoom = patched(
        QueueRoom.prototype,
        "hasRoom",
        () =>
          function (this: QueueRoom) {
            if ((places.get(this) ?? 0) >= 3) throw new SluiceError("QUEUE_FULL", "3 requests wait")
            return true
          },
      )
      return () => {
        undoTake()
        undoHasRoom()
      }
    },
  },
  {
    name: "a store refuses turns to others while somebody waits",
    law: "no request that the store would grant now is refused because of waiters",
    server: (store) => {
      let waits = 0
      return changed(store, {
        decide(request) {
          if (request.mode !== "book") return store.decide(request)
          const { granted, levels, at, turn = at } = store.decide({ ...request, mode: "peek" })
          if (at < waits) return { granted: 0, levels, at, turn: waits }
          const reply = store.decide(request)
          if (granted === 0) waits = reply.turn ?? turn
          return reply
        },
      })
    },
  },
  {
    name: "turns that are given up are lost",
    law: "aborted waiters lock no key",
    server: (store) => changed(store, { leave: () => {} }),
  },
  {
    name: "turns that are given up fit only a request of the same cost",
    law: "aborted waiters lock no key",
    install() {
      const algorithms = new Set(countings.map(({ algorithm }) => algorithm))
      const undo = [...algorithms].map((algorithm) =>
        patched(algorithm, "isWithin", (was) => (parameters, view, back) => {
          const front = algorithm.queueState(view)
          return was.call(algorithm, parameters, view, back) && front[0] === back[0] && front[1] === back[1]
        }),
      )
      return () => {
        for (const each of undo) each()
      }
    },
  },
  {
    name: "a server that cannot write is not asked by a peek",
    law: "an exhausted key is never admitted while the store could still deny it",
    client: (client) => ({
      ...client,
      run: (command, script, keys, args) =>
        script.endsWith("_ro")
          ? Promise.reject(new Error("ERR refused"))
          : client.run(command, script, keys, args),
    }),
  },
  {
    name: "a server that cannot write is given up",
    law: "a store is not given up because it cannot write",
    beneathOutage: (store) => ({
      ...store,
      decide(request) {
        const reply = store.decide(request)
        if (!isPromise(reply)) return reply
        return reply.then(undefined, (error: unknown) => {
          throw new SluiceError("STORE_REFUSED", String(error))
        })
      },
    }),
  },
]

function changed(store: MemoryStore, change: Partial<MemoryStore>): MemoryStore {
  return { ...store, ...change }
}

/** Remembers denials, whatever they say of when to ask again. */
function rememberingFor(ms: number, store: Store): Store {
  const denied = new Map<string, { answer: StoreReply; until: number }>()
  return {
    ...store,
    decide(request) {
      const name = JSON.stringify(request.policies)
      const known = denied.get(name)
      if (request.mode !== "spend") return store.decide(request)
      if (known !== undefined && known.until > performance.now()) return { ...known.answer, source: "cache" }
      return Promise.resolve(store.decide(request)).then((reply) => {
        if (reply.granted === 0) denied.set(name, { answer: reply, until: performance.now() + ms })
        return reply
      })
    },
  }
}
