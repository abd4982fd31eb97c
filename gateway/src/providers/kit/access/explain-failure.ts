/** Explains a failed access test to operators: the reason and the fix. */
import type { Exchange } from '../../port/exchange.ts'
import type { ProviderFailure } from '../../port/failure.ts'
import { linkLocalCode } from '../http/link-local.ts'

export interface FailedTest {
  /** The provider's configured name. */
  provider: string
  /** The host that the protocol calls. */
  host: string
  failure: ProviderFailure
  /** The last call; undefined if the failure came before any. */
  exchange: Pick<Exchange, 'what' | 'status' | 'answer' | 'path' | 'method'> | undefined
}

const dnsErrors = /^(ENOTFOUND|EAI_\w+|ENODATA|ESERVFAIL)$/
const unreachableErrors = /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|EACCES|EPERM)$/
const timeouts = /^(TimeoutError|AbortError|ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/
const certificateErrors =
  /^(CERT_\w+|\w*SELF_SIGNED\w*|UNABLE_TO_\w+|ERR_TLS_CERT\w+|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)$/
const tlsErrors = /^(EPROTO|ERR_SSL_\w+|ERR_TLS_\w+)$/
const notHttpErrors = /^HPE_\w+$/

const addressFix = 'check base_url (baseUrl in PROVIDERS_FILE)'

/** Says why there was no response, by the code of the network error. */
function explainSilence(host: string, code: string): string {
  if (code === linkLocalCode) {
    return `${host} is a link-local address, where a cloud serves the credentials of this machine. It was not called: ${addressFix}, or set PROVIDERS_ALLOW_LINK_LOCAL to true.`
  }
  if (dnsErrors.test(code)) {
    return `${host} could not be resolved (${code}): ${addressFix} and the DNS of this machine.`
  }
  if (code === 'ECONNREFUSED') {
    return `${host} refused the connection: ${addressFix}, its port, and whether the service runs.`
  }
  if (unreachableErrors.test(code)) {
    return `${host} cannot be reached from here (${code}): ${addressFix}, and the network and firewall of this machine.`
  }
  if (timeouts.test(code)) {
    return `${host} did not answer in time: ${addressFix}, the firewall of this machine, and poll_timeout_ms.`
  }
  if (certificateErrors.test(code)) {
    return `The TLS certificate of ${host} is not valid (${code}): ${addressFix}, or give Node the missing certificate authority with NODE_EXTRA_CA_CERTS.`
  }
  if (tlsErrors.test(code)) {
    return `${host} does not speak TLS there (${code}): ${addressFix}, and whether it must begin with http:// or have another port.`
  }
  if (notHttpErrors.test(code)) return `${host} does not speak HTTP there (${code}): ${addressFix}.`
  return `${host} closed the connection without an answer (${code}): ${addressFix}, and whether it must begin with https://.`
}

function explainStatus(status: number, { provider, host, failure, exchange }: FailedTest): string {
  const keyFix = `set a valid one with api_key of PUT /admin/v1/providers/${provider}, or apiKey in PROVIDERS_FILE`
  if (failure.kind === 'unauthorized' || status === 401) {
    return `The provider refused the key (${status}): ${keyFix}.`
  }
  if (status === 403) {
    return `The provider denied access (403): ${keyFix}, or let the provider allow this account and this address.`
  }
  if (status === 402) return 'The provider asks for payment (402): top up the account of the key there.'
  if (status === 404 || status === 405) {
    const call = exchange === undefined ? 'this call' : `${exchange.method} ${exchange.path}`
    return `${host} has no ${call} (${status}): ${addressFix}, whose path may be wrong or belong to another kind of provider.`
  }
  if (status === 429) {
    const { retryAfterMs } = failure
    const when = retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s`
    return `The provider limits the rate (429), so the key was not verified: try again ${when}, and check the quota of the account there.`
  }
  if (status >= 500) {
    return `The provider has a problem of its own (${status}): try again later, and see whether it reports an outage.`
  }
  if (status >= 300 && status < 400) {
    return `${host} redirects the call (${status}): set base_url (baseUrl in PROVIDERS_FILE) to the final address.`
  }
  if (status < 300) {
    return `${host} answered ${status}, but not with the JSON of this protocol: ${addressFix} and the kind of the provider.`
  }
  return `The provider refused the call (${status}): ${addressFix}, the key and the settings of the provider.`
}

/** An own message of an adapter, such as a missing package, as a sentence. */
function sentenceOf({ message }: ProviderFailure): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
}

export function explainFailure(failed: FailedTest): string {
  const { failure, exchange, host } = failed
  if (failure.isLocal) {
    return 'This process could not open a connection, which says nothing about the provider: see its limits of open files, ports and memory.'
  }
  if (exchange === undefined) return sentenceOf(failure)
  // A service account gets its token from another host.
  const at = exchange.what === 'token' ? 'The token_uri of the service account' : host
  if (exchange.status === undefined) return explainSilence(at, exchange.answer)
  return explainStatus(exchange.status, { ...failed, host: at })
}
