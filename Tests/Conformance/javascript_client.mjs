// The JavaScript client as conformance.py runs it: its address and fetch are arguments.

import { connect } from '../../Public/livefetch.js';

const [, , address, fetch] = process.argv;
connect(address).live(JSON.parse(fetch), { onChange: (result) => console.log(JSON.stringify(result)) });
