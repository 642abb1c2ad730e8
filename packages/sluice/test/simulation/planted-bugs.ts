import type { Answer, MemoryStore, Store } from "sluice"
import type { RedisClient } from "sluice/redis"
import { Breaker } from "../../src/layers/breaker.js"
import { Deadlines } from "../../src/layers/deadlines.js"
import { Block, Lease } from "../../src/layers/leased-key.js"
import { Group } from "../../src/stores/redis/group.js"
import { Line } from "../../src/waiting/line.js"
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

/** Bugs that somebody might make, each with the law that it breaks. */
export const plantedBugs: readonly (Bug & { readonly name: string })[] = [
  {
    name: "what may have run is sent again",
    client: (client) => ({
      ...client,
      runByHash: (sha, keys, args) =>
        client.runByHash(sha, keys, args).catch((error: unknown) => {
          if (isUnknown(error)) return client.runByHash(sha, keys, args)
          throw error
        }),
    }),
  },
  {
    name: "what may have run is called refused",
    client: (client: RedisClient) => ({
      ...client,
      runByHash: (sha, keys, args) =>
        client.runByHash(sha, keys, args).catch((error: unknown) => {
          throw isUnknown(error) ? new Error("The client is closed") : error
        }),
    }),
  },
  {
    name: "what was granted too late is kept",
    beneathOutage: (store) => ({
      ...store,
      giveBack: (parts, at) => (at === undefined ? store.giveBack(parts) : undefined),
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
      forget: (places) => store.forget(places),
      giveBack: (parts, at) => store.giveBack(parts, at),
    }),
  },
  {
    name: "of equal asks one too many is granted",
    install: () =>
      patched(
        Group.prototype,
        "answer",
        (was) =>
          function (this: Group, answer) {
            const short = this.size > 1 && answer.granted < this.size
            was.call(this, short ? { ...answer, granted: answer.granted + 1 } : answer)
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
      ask(ask) {
        // those of callers may lie as far ahead as their turns
        const isCallers = MAX_WAITS.includes((ask.maxWait ?? 0) / 1_000)
        return ask.mode === "charge" && !isCallers ? { granted: 1, levels: [], at: 0 } : store.ask(ask)
      },
    }),
  },
  {
    name: "a turn that was given back goes to two",
    server: (store) =>
      changed(store, {
        leave(turn) {
          store.leave(turn)
          store.leave(turn)
        },
      }),
  },
  {
    name: "what is given back counts twice",
    server: (store) =>
      changed(store, {
        giveBack: (parts, at) =>
          store.giveBack(
            parts.map((part) => ({ ...part, cost: part.cost * 2 })),
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
          const name = settlement.place.scope.id
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
        ask(ask) {
          const answer = store.ask(ask)
          if (ask.mode === "spend" && answer.granted === 0) store.ask({ ...ask, mode: "charge", maxWait: 0 })
          return answer
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
]

function changed(store: MemoryStore, change: Partial<MemoryStore>): MemoryStore {
  return { ...store, ...change }
}

/** Remembers denials, whatever they say of when to ask again. */
function rememberingFor(ms: number, store: Store): Store {
  const denied = new Map<string, { answer: Answer; until: number }>()
  return {
    ...store,
    ask(ask) {
      const name = JSON.stringify(ask.parts)
      const known = denied.get(name)
      if (ask.mode !== "spend") return store.ask(ask)
      if (known !== undefined && known.until > performance.now()) return { ...known.answer, source: "cache" }
      return Promise.resolve(store.ask(ask)).then((answer) => {
        if (answer.granted === 0) denied.set(name, { answer, until: performance.now() + ms })
        return answer
      })
    },
  }
}
