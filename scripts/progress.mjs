// A reporter for vitest that says how far a long run is, every half minute.

const EVERY_MS = 30_000

const clock = (ms) => {
  const seconds = Math.round(ms / 1_000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

export default class Progress {
  #total = 0
  #ended = 0
  #failed = 0
  #start = 0
  #timer

  onTestRunStart(specifications) {
    this.#total = specifications.length
    this.#start = performance.now()
    this.#timer = setInterval(() => this.#say(), EVERY_MS)
    this.#timer.unref()
    console.log(`${this.#total} files of tests`)
  }

  onTestModuleEnd(module) {
    this.#ended += 1
    if (module.state() === "failed") this.#failed += 1
  }

  onTestRunEnd() {
    clearInterval(this.#timer)
    this.#say()
  }

  #say() {
    const failed = this.#failed === 0 ? "" : `, ${this.#failed} failed`
    console.log(
      `… ${this.#ended} of ${this.#total} files${failed}, after ${clock(performance.now() - this.#start)}`,
    )
  }
}
