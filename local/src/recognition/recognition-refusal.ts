/** A rejected recording, with the status, code and message of the error response. */
export class RecognitionRefusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'RecognitionRefusal'
    this.status = status
    this.code = code
  }
}

export function undecodable(message: string): RecognitionRefusal {
  return new RecognitionRefusal(400, 'invalid_file_format', message)
}

export function invalid(message: string): RecognitionRefusal {
  return new RecognitionRefusal(400, 'invalid_request', message)
}
