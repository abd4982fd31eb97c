export const texts = {
  once: 'Copy it now.',
  kept: 'The service cannot show it again.',
  secret: 'Secret',
  copy: 'Copy',
  form: 'Form',
  saved: 'I have saved the secret',
  done: 'Done',
}
