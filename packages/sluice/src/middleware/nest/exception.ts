import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from "@nestjs/common"
import type { Denial } from "../../http/denial.js"
import { sendDenial } from "./exchange.js"

/** Thrown by the guard for a denied request. An exception filter may answer it in its own way. */
export class RateLimitException extends HttpException {
  /** The response to send, and the decision behind it. */
  readonly denial: Denial

  constructor(denial: Denial) {
    super(contentOf(denial.body), denial.status)
    this.denial = denial
  }
}

/** Responds to a denied request if no filter of the application does. */
@Catch(RateLimitException)
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch(exception: RateLimitException, host: ArgumentsHost): void {
    // GraphQL and others report errors in their own format.
    if (host.getType() !== "http") throw exception
    sendDenial(host.switchToHttp().getResponse(), exception.denial)
  }
}

/** Other filters expect the content of a JSON body, not its text. */
function contentOf(body: string): string | object {
  try {
    const content: unknown = JSON.parse(body)
    return typeof content === "object" && content !== null ? content : body
  } catch {
    return body
  }
}
