/** What the API says about an error, in the language of the console. */
import { isKinoraError } from '@kinora/client'

import { useTexts } from '../i18n/texts.ts'
import { errorTexts } from './texts.ts'

interface Reason {
  message: string
  hint?: string
  /** The words of the service, if the message is not in them. They name parameters, limits and times. */
  original?: string
  requestId?: string
}

/** A refusal, or the error of a task. */
interface Coded {
  code: string
  message: string
}

export const useReasons = () => {
  const { errors, tasks, places, notices, causes } = useTexts(errorTexts)
  const ofCode = ({ code, message }: Coded): string => errors[code]?.message ?? message
  return {
    ofCode,
    ofError: (error: unknown): Reason => {
      if (!isKinoraError(error)) return { message: error instanceof Error ? error.message : String(error) }
      const { message, hint, requestId, code } = error
      const known = code === undefined ? undefined : errors[code]
      return {
        ...(known === undefined
          ? { message, ...(hint !== undefined && { hint }) }
          : { ...known, original: message }),
        ...(requestId !== undefined && { requestId }),
      }
    },
    ofTask: ({ code, message }: Coded): string => tasks[code]?.message ?? message,
    ofNotice: ({ code, message }: Coded): string => notices[code] ?? message,
    ofFailure: (
      { cause, what_to_do: whatToDo }: { cause: string; what_to_do: string },
      code: string,
      steps: { kind: string }[] = [],
    ): Reason => {
      const known = tasks[code]
      if (known === undefined) return { message: cause, hint: whatToDo }
      const last = steps.findLast(({ kind }) => places[kind] !== undefined)
      const place = code === 'task_cancelled' || last === undefined ? undefined : places[last.kind]
      return { message: `${known.message}${place ?? ''}`, hint: known.hint, original: cause }
    },
    /** For operators: the words of the service have the details. */
    ofCause: ({ code, text }: { code: string; text: string }): Reason => {
      const known = causes[code]
      return known === undefined ? { message: text } : { message: known, original: text }
    },
  }
}
