/** What the page of the console may load, and from where. */

/** Of the media origins the page loads images, videos and sounds, and fetches files to show or to save them. */
export const pagePolicy = (mediaOrigins: string[]): string => {
  const media = mediaOrigins.map((origin) => ` ${origin}`).join('')
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `font-src 'self'`,
    `connect-src 'self'${media}`,
    `img-src 'self' blob: data:${media}`,
    `media-src 'self' blob:${media}`,
    `worker-src 'self' blob:`,
    `manifest-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}

/** The headers that confine the page. The microphone is for recordings that are transcribed. */
export const policyHeaders = (policy: string): Record<string, string> => ({
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'microphone=(self), camera=(), geolocation=(), payment=(), usb=()',
})
