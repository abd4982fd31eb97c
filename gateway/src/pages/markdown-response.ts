import { createFixedResponse, type FixedResponse } from '../platform/fixed-response.ts'

/** The text is made at the first request, because most processes are never asked for it. */
export const createMarkdown = (write: () => string): FixedResponse => {
  let response: FixedResponse | undefined
  return async (header) => {
    response ??= createFixedResponse(write(), {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'public, max-age=300',
    })
    return response(header)
  }
}
