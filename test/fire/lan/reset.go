package lan

import "encoding/binary"

// Offsets in a frame and in the headers inside it.
const (
	etherLen = 14
	ipLen    = 20
	tcpLen   = 20

	flagFIN, flagSYN, flagRST, flagACK = 1, 2, 4, 16
)

// resetFor returns the frame that resets the connection of a TCP segment, as its receiver
// would send it. Returns nil if frame is not TCP or is a reset.
func resetFor(frame []byte) []byte {
	ip, tcp := segment(frame)
	if tcp == nil || tcp[13]&flagRST != 0 {
		return nil
	}
	out := make([]byte, etherLen+ipLen+tcpLen)
	copy(out, frame[6:12])
	copy(out[6:], frame[:6])
	copy(out[12:], frame[12:14])
	rip, rtcp := out[etherLen:etherLen+ipLen], out[etherLen+ipLen:]

	rip[0], rip[8], rip[9] = 4<<4|ipLen/4, 64, 6
	binary.BigEndian.PutUint16(rip[2:], ipLen+tcpLen)
	copy(rip[12:], ip[16:20])
	copy(rip[16:], ip[12:16])
	binary.BigEndian.PutUint16(rip[10:], checksum(0, rip))

	copy(rtcp, tcp[2:4])
	copy(rtcp[2:], tcp[:2])
	rtcp[12] = tcpLen / 4 << 4
	if tcp[13]&flagACK != 0 {
		copy(rtcp[4:], tcp[8:12])
		rtcp[13] = flagRST
	} else {
		binary.BigEndian.PutUint32(rtcp[8:], binary.BigEndian.Uint32(tcp[4:])+length(tcp))
		rtcp[13] = flagRST | flagACK
	}
	var pseudo [12]byte
	copy(pseudo[:], rip[12:20])
	pseudo[9], pseudo[11] = 6, tcpLen
	binary.BigEndian.PutUint16(rtcp[16:], checksum(sum(0, pseudo[:]), rtcp))
	return out
}

// segment returns the IP header of an IPv4 frame and the TCP segment in it, or nil.
func segment(frame []byte) (ip, tcp []byte) {
	if len(frame) < etherLen+ipLen || frame[12] != 8 || frame[13] != 0 {
		return nil, nil
	}
	ip = frame[etherLen:]
	head, all := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if ip[9] != 6 || head < ipLen || all < head+tcpLen || all > len(ip) {
		return nil, nil
	}
	return ip, ip[head:all]
}

// length returns the number of sequence numbers of a segment.
func length(tcp []byte) uint32 {
	n := uint32(max(0, len(tcp)-int(tcp[12]>>4)*4))
	if tcp[13]&flagSYN != 0 {
		n++
	}
	if tcp[13]&flagFIN != 0 {
		n++
	}
	return n
}

// checksum returns the internet checksum over b, continued from sum.
func checksum(before uint32, b []byte) uint16 {
	n := sum(before, b)
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	return ^uint16(n)
}

func sum(n uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		n += uint32(binary.BigEndian.Uint16(b))
	}
	return n
}
