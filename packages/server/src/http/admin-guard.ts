import { createHash, timingSafeEqual } from "node:crypto"
import type { FastifyRequest, onRequestHookHandler } from "fastify"
import { HttpProblem } from "./problem.js"

/**
 * Lets only operators pass. The token is that of the configuration in force. With a token, the request must carry it. Without one, both the listener and the request's Host must be
 * loopback: a web page can make a browser call a loopback address, but not under that name.
 */
export function adminGuard(tokenInForce: () => string | undefined, listenHost: string): onRequestHookHandler {
  const checkFor = (token: string | undefined) =>
    token === undefined ? localCheck(listenHost) : tokenCheck(token)
  let known = tokenInForce()
  let check = checkFor(known)
  return (request, _, done) => {
    const token = tokenInForce()
    // A reload has changed it.
    if (token !== known) {
      known = token
      check = checkFor(token)
    }
    const problem = check(request)
    if (problem === undefined) done()
    else done(problem)
  }
}

type Check = (request: FastifyRequest) => HttpProblem | undefined

function tokenCheck(token: string): Check {
  const expected = digest(token)
  return ({ headers }) => {
    const [, given] = /^Bearer +(.+)$/i.exec(headers.authorization ?? "") ?? []
    // Digests have one length, which timingSafeEqual needs, and say nothing about the token's.
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return undefined
    const what = given === undefined ? "needs the admin token" : "has a wrong admin token"
    return new HttpProblem(401, `this call ${what}; send Authorization: Bearer <token>`, {
      headers: { "WWW-Authenticate": 'Bearer realm="sluice"' },
    })
  }
}

function localCheck(listenHost: string): Check {
  if (!isLoopback(listenHost)) {
    return () =>
      new HttpProblem(
        403,
        "admin calls are off: the server listens beyond loopback and has no admin token. Set admin.token or SLUICE_ADMIN_TOKEN",
      )
  }
  return ({ headers }) => {
    const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(headers.host ?? "")?.[1] ?? ""
    const isForwarded = headers["x-forwarded-for"] !== undefined || headers["forwarded"] !== undefined
    if (isLoopback(name) && !isForwarded) return undefined
    return new HttpProblem(
      403,
      "without an admin token, admin calls must come directly to localhost. Set admin.token or SLUICE_ADMIN_TOKEN",
    )
  }
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest()
}
