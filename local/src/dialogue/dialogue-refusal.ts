/** A rejected request, with the status, code and message of the error response. */
export class DialogueRefusal extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | undefined

  constructor(status: number, code: string, message: string, param?: string) {
    super(message)
    this.name = 'DialogueRefusal'
    this.status = status
    this.code = code
    this.param = param
  }
}
