// Settles a reservation of tokens at what a streamed answer came to, also when the stream breaks off half-way.

/** The model refused the call before it sent anything: it has generated nothing. */
export class Refused extends Error {}

/** A piece of an answer: its text and tokens, or at the end how many tokens there were in all. */
export type Piece = { readonly text: string; readonly tokens: number } | { readonly total: number }

interface TokenReservation {
  settle(actual: { tokens: number }): Promise<boolean>
  cancel(): Promise<boolean>
}

/** Passes an answer on piece by piece, and resolves with the tokens that are paid for it. */
export async function payForStream(
  reservation: TokenReservation,
  answer: AsyncIterable<Piece>,
  send: (text: string) => void | Promise<void>,
): Promise<number> {
  let streamed = 0
  try {
    for await (const piece of answer) {
      if ("total" in piece) {
        streamed = piece.total
      } else {
        streamed += piece.tokens
        await send(piece.text)
      }
    }
  } catch (error) {
    if (error instanceof Refused && streamed === 0) {
      // nothing was generated, so nothing is paid
      await reservation.cancel()
    } else if (streamed > 0) {
      // what was streamed is paid, also by a client that disconnects
      await reservation.settle({ tokens: streamed })
    }
    // else nobody knows what the call has cost: the estimate stays
    throw error
  }
  await reservation.settle({ tokens: streamed })
  return streamed
}
