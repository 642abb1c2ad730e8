// Limits of their own for groups of jobs, on the free edition of BullMQ: a job over its group's limit is delayed.
import { DelayedError, type Processor } from "bullmq"
import type { Limiter } from "sluice"

/** Wraps a processor: each job is charged to its group, and a job over the limit is tried again when it can pass. */
export function limitedByGroup<T extends { readonly group: string }, R>(
  limiter: Limiter,
  process: Processor<T, R>,
): Processor<T, R> {
  return async (job, token, signal) => {
    const { allowed, retryAfter } = await limiter.tryAcquire(job.data.group)
    if (!allowed) {
      await job.moveToDelayed(Date.now() + retryAfter, token)
      // Tells the worker that the job has been moved. It does not count as an attempt.
      throw new DelayedError()
    }
    return process(job, token, signal)
  }
}
