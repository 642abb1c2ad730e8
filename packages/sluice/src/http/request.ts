/** The parts of an HTTP request that a decision reads. Each framework module makes one from its own request. */
export interface HttpRequest {
  /** The address of the socket's peer. Undefined where the platform has no socket. */
  readonly address?: string | undefined
  /** A header field by its name in lower case. Several lines of it are joined by commas, in the order in which they arrived. */
  header(name: string): string | undefined
  /** Returns a signal that aborts when the client disconnects. Only a request that waits calls it. */
  signal?(): AbortSignal
}
