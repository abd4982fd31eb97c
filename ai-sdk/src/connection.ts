/** How requests reach the service: their URL, their headers, and the errors that they may end with. */
import {
  createJsonErrorResponseHandler,
  createJsonResponseHandler,
  jsonSchema,
  loadApiKey,
  loadOptionalSetting,
  withUserAgentSuffix,
  type FetchFunction,
} from '@ai-sdk/provider-utils'

export interface KinoraProviderSettings {
  /**
   * The address of the service, with or without `/v1` or `/openai/v1` at its end. Default: the environment variable
   * `KINORA_URL`, or `http://127.0.0.1:8787`, where `kinora dev` listens.
   */
  baseURL?: string
  /** Default: the environment variable `KINORA_API_KEY`. */
  apiKey?: string
  /** More headers of every request. */
  headers?: Record<string, string>
  /** Sends the requests instead of the global `fetch`. */
  fetch?: FetchFunction
  /**
   * What a finished video is given to the SDK as. The SDK does not download from `localhost` and from private addresses, so
   * `auto` means `bytes` if the link of the video has such a host, and `url` otherwise.
   */
  videoResult?: 'auto' | 'url' | 'bytes'
}

export type Headers = Record<string, string | undefined>

/** What a call of the SDK has, whatever it asks for. */
export interface CallContext {
  headers?: Headers | undefined
  abortSignal?: AbortSignal | undefined
}

interface RequestParts {
  headers: Headers
  failedResponseHandler: typeof failedResponse
  abortSignal?: AbortSignal
  fetch?: FetchFunction
}

export interface Connection {
  urlOf: (path: string) => string
  /** What every request has. */
  requestOf: (call: CallContext) => RequestParts
}

const defaultUrl = 'http://127.0.0.1:8787'

/** The dialect of `/openai/v1` has defaults for what the functions of the SDK leave out. */
const apiBaseOf = (address: string) =>
  `${address.replace(/\/+$/, '').replace(/(\/openai)?\/v1$/, '')}/openai/v1`

const addressOf = (settingValue: string | undefined): string => {
  const address = loadOptionalSetting({ settingValue, environmentVariableName: 'KINORA_URL' })
  return address === undefined || address === '' ? defaultUrl : address
}

interface ErrorBody {
  error: { message: string; type: string; code: string; param?: string; hint?: string; request_id?: string }
}

/** A schema of an object with these fields. What the service sends in them has the types of the contract. */
const objectWith = <Value>(...fields: (keyof Value & string)[]) =>
  jsonSchema<Value>(
    { type: 'object', required: fields },
    {
      validate: (value) =>
        typeof value === 'object' && value !== null && fields.every((field) => field in value)
          ? { success: true, value: value as Value }
          : { success: false, error: new Error(`The response has not all of: ${fields.join(', ')}.`) },
    },
  )

export const responseWith = <Value>(...fields: (keyof Value & string)[]) =>
  createJsonResponseHandler(objectWith<Value>(...fields))

/** The service says whether a repetition makes sense. Otherwise the SDK decides by the status. */
const mayRetry = ({ headers, status }: Response): boolean => {
  const advice = headers.get('x-should-retry')
  if (advice !== null) return advice === 'true'
  return status === 408 || status === 409 || status === 429 || status >= 500
}

const failedResponse = createJsonErrorResponseHandler({
  errorSchema: objectWith<ErrorBody>('error'),
  errorToMessage: ({ error }) => error.message,
  isRetryable: mayRetry,
})

/** Reads the environment when a request is made, because the default provider is created at import. */
export const createConnection = ({
  baseURL,
  apiKey,
  headers,
  fetch,
}: KinoraProviderSettings): Connection => ({
  urlOf: (path) => `${apiBaseOf(addressOf(baseURL))}${path}`,
  requestOf: ({ headers: given, abortSignal }) => {
    const key = loadApiKey({ apiKey, environmentVariableName: 'KINORA_API_KEY', description: 'Kinora' })
    return {
      headers: withUserAgentSuffix({ authorization: `Bearer ${key}`, ...headers, ...given }, 'ai-sdk/kinora'),
      failedResponseHandler: failedResponse,
      ...(abortSignal && { abortSignal }),
      ...(fetch && { fetch }),
    }
  },
})
