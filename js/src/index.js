export { Client, ServiceError } from './client.js';
export { Local } from './local.js';
export { LocalPolicy, hash, mix } from './policy.js';
