// Login protection: 5 wrong passwords for an account in 15 minutes, however many guesses arrive at once.
import express from "express"
import { fixedWindow } from "sluice"
import { rateLimit } from "sluice/express"

const guesses = rateLimit({
  name: "login",
  policy: fixedWindow({ limit: 5, window: "15m" }),
  key: (request) => String(request.body?.account).toLowerCase(),
  count: "failures",
})

export const app = express()

app.post("/login", express.json(), guesses, async (request, response) => {
  const correct = await checkPassword(request.body.account, request.body.password)
  response.sendStatus(correct ? 200 : 401)
})

/** Stands in for your user database and its slow hash. */
async function checkPassword(_account: string, password: string): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 20))
  return password === "open sesame"
}
