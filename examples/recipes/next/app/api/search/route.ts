// A route handler of Next.js, limited by the address that Vercel reports.
import { fixedWindow } from "sluice"
import { behind, clientKey } from "sluice/http"
import { rateLimit } from "sluice/web"

const limit = rateLimit({
  name: "search",
  policy: fixedWindow({ limit: 3, window: "1m" }),
  key: clientKey(behind.vercel),
})

export const GET = limit(async (request: Request) => {
  const query = new URL(request.url).searchParams.get("q")
  return Response.json({ query, found: [] })
})
