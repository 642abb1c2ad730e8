/** Milliseconds between two looks. */
const STEP = 2

/**
 * Measures how long the machine kept this process from running. While other processes have the cores, timers are late and
 * this process uses no CPU time. While its own code keeps it busy, timers are late too, but it does use CPU time: that is
 * never counted as a pause.
 */
export class Pauses {
  readonly #pauses: { readonly from: number; readonly to: number; readonly lost: number }[] = []
  #at: number
  #used: number

  /** `at` is now and `used` is the CPU time so far, both in milliseconds. */
  constructor(at: number, used: number) {
    this.#at = at
    this.#used = used
  }

  /** Called every `STEP` milliseconds, or later if the process was busy or did not run. */
  look(at: number, used: number): void {
    const lost = at - this.#at - STEP - (used - this.#used)
    if (lost > 0) this.#pauses.push({ from: this.#at, to: at, lost })
    this.#at = at
    this.#used = used
  }

  /** The most milliseconds between two moments in which this process could not run. */
  between(from: number, to: number): number {
    let sum = 0
    for (const pause of this.#pauses) {
      const common = Math.min(to, pause.to) - Math.max(from, pause.from)
      if (common > 0) sum += Math.min(common, pause.lost)
    }
    return sum
  }

  /** Milliseconds by which a call missed its deadline, without pauses of the machine after the deadline. */
  lateness({ startedAt, endedAt }: { startedAt: number; endedAt: number }, deadline: number): number {
    const due = startedAt + deadline
    return endedAt <= due ? endedAt - due : endedAt - due - this.between(due, endedAt)
  }

  /** The lateness of the call that missed its deadline by most. There may be more calls than a function takes arguments. */
  worst(calls: readonly { startedAt: number; endedAt: number }[], deadline: number): number {
    return calls.reduce((worst, call) => Math.max(worst, this.lateness(call, deadline)), -deadline)
  }
}

/** Starts to measure. `stop` ends it and returns what was found. */
export function watchPauses(): { stop(): Pauses } {
  const used = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
  const pauses = new Pauses(performance.now(), used())
  const look = () => pauses.look(performance.now(), used())
  const timer = setInterval(look, STEP)
  return {
    stop() {
      clearInterval(timer)
      look()
      return pauses
    },
  }
}
