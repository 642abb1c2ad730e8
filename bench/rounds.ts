import type { Progress } from "./progress.js"
import { type Spread, spreadOf } from "./statistics.js"

/** What one round of one subject measured, by name. */
export type Figures = Record<string, number>

export interface Row {
  readonly subject: string
  readonly figures: Record<string, Spread>
}

/** The outcome of one case. */
export interface Result {
  readonly id: string
  readonly title: string
  readonly rows: readonly Row[]
  readonly notes?: readonly string[]
}

export interface Pace {
  readonly quick: boolean
  readonly rounds: number
  /** The length of a round in milliseconds. */
  readonly ms: number
  readonly warmUpMs: number
}

/** Warms every subject up, then runs A, B, C, A, B, C: what disturbs the machine for a while disturbs all. */
export async function interleave<S extends { readonly name: string }>(
  subjects: readonly S[],
  run: (subject: S, ms: number, warming: boolean) => Promise<Figures>,
  pace: Pace,
  progress: Progress,
): Promise<Row[]> {
  const measured = new Map<S, Figures[]>(subjects.map((subject) => [subject, []]))
  for (const subject of subjects) {
    progress.step(`warming up ${subject.name}`)
    await run(subject, pace.warmUpMs, true)
  }
  for (let round = 1; round <= pace.rounds; round += 1) {
    for (const subject of subjects) {
      progress.step(`round ${round} of ${pace.rounds}: ${subject.name}`)
      measured.get(subject)?.push(await run(subject, pace.ms, false))
    }
  }
  return subjects.map((subject) => rowOf(subject.name, measured.get(subject) ?? []))
}

export function rowOf(subject: string, rounds: readonly Figures[]): Row {
  const names = Object.keys(rounds[0] ?? {})
  const figures = names.map((name) => [name, spreadOf(rounds.map((round) => round[name] as number))] as const)
  return { subject, figures: Object.fromEntries(figures) }
}
