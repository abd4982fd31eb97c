export const texts = {
  play: (name: string) => `Play ${name}`,
  pause: (name: string) => `Pause ${name}`,
  position: (position: string, duration: string) => `${position} of ${duration}`,
  model: 'Model',
  anyPrice: 'No price is set',
  free: 'Free',
  perMinute: (price: string) => `${price} per minute`,
  perMillion: (price: string) => `${price} per million characters`,
  noModels: {
    title: 'No model for this is available.',
    text: 'Your key may not use one, or none has a provider.',
  },
  balanceAfter: (amount: string) => `balance after ${amount}`,
  payg: {
    title: 'This key pays from a subscription, and audio needs a pay-as-you-go key.',
    text: 'Sign in with a pay-as-you-go key of the account. An operator can create one.',
    action: 'Use another key',
  },
  microphone: {
    denied:
      'The browser does not allow this page to use the microphone. Allow it in the settings of the page.',
    missing: 'There is no microphone.',
    insecure: 'Browsers only record on pages with HTTPS, or on this machine. Choose a file instead.',
  },
  recording: (time: string) => `Recording, ${time}`,
  level: 'Loudness',
  stopRecording: 'Stop recording',
  discard: 'Discard',
}
