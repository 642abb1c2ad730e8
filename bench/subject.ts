/** One library, or one way to use it, in one case. */
export interface Subject {
  readonly name: string
  /** One decision, by the library's own call and with no wrapper of ours around its promise. */
  decide(key: string): Promise<unknown>
  /** Whether an answer, or what was thrown in its place, lets the request pass; throws what is neither. */
  passed(reply: unknown): boolean
  close(): Promise<void>
}

/** One library, or one way to use it, where callers wait for their turn; it has one key. */
export interface WaitingSubject {
  /** Waits for a turn, and says when it has come. */
  wait(granted: () => void): Promise<unknown>
  /** Resolves when all who have asked so far are in line. */
  inLine(): Promise<unknown>
  /** Ends, and sends away who still waits. */
  close(): Promise<void>
}

/** The peer that ratios are to. */
export const baseline = "rate-limiter-flexible"

/** How every policy of a case that denies nobody is set: no run spends this much. */
export const plenty = 100_000_000

/** The sequence number of a subject, for names and prefixes that no other subject has used. */
export const serial = (() => {
  let last = 0
  return () => {
    last += 1
    return last
  }
})()
