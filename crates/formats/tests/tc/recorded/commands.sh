# The files beside this one are what `tc -d -j qdisc|class|filter show dev wan0` of iproute2 6.1 printed after each
# group of these commands, in Linux 6.1.192. Empty lists are left out.

# bfifo
tc qdisc add dev wan0 root handle 5: bfifo limit 64000

# cake1
tc qdisc add dev wan0 root handle 8001: cake bandwidth 9500kbit besteffort dual-srchost overhead 44 mpu 84 atm

# cake2
tc qdisc add dev wan0 root handle 8001: cake bandwidth 20mbit diffserv3 flows ack-filter rtt 50ms no-split-gso ingress

# cake3
tc qdisc add dev wan0 root handle 8001: cake unlimited

# cake4
tc qdisc add dev wan0 root handle 8001: cake bandwidth 20mbit diffserv8 dual-dsthost ethernet memlimit 4mb

# cake5
tc qdisc add dev wan0 root handle 8001: cake bandwidth 20mbit autorate-ingress precedence hosts fwmark 0xff wash

# cake6
tc qdisc add dev wan0 root handle 8001: cake bandwidth 20mbit diffserv4 srchost docsis ptm

# flower
tc qdisc add dev wan0 root handle 1: htb default 0x20
tc class add dev wan0 parent 1: classid 1:1 htb rate 100mbit burst 15k
tc class add dev wan0 parent 1:1 classid 1:10 htb rate 30mbit ceil 100mbit
tc class add dev wan0 parent 1:1 classid 1:2 htb rate 70mbit ceil 80mbit
tc class add dev wan0 parent 1:2 classid 1:20 htb rate 40mbit ceil 80mbit
tc class add dev wan0 parent 1:2 classid 1:21 htb rate 20mbit ceil 60mbit
tc qdisc add dev wan0 parent 1:10 handle 10: cake unlimited besteffort dual-srchost
tc qdisc add dev wan0 parent 1:20 handle 20: cake unlimited diffserv4
tc qdisc add dev wan0 parent 1:21 handle 21: sfq perturb 10
tc filter add dev wan0 parent 1: protocol ip prio 1 flower ip_proto udp dst_port 5060 classid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 1 flower ip_proto tcp src_port 8000-8010 classid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 1 flower ip_proto tcp tcp_flags 0x2/0x2 classid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 2 flower src_ip 10.1.0.0/16 dst_ip 198.51.100.0/24 classid 1:21
tc filter add dev wan0 parent 1: protocol ip prio 2 flower ip_tos 0xb8/0xfc classid 1:10
tc filter add dev wan0 parent 1: protocol ipv6 prio 3 flower src_ip 2001:db8::/56 classid 1:21
tc filter add dev wan0 parent 1: protocol all prio 4 flower src_mac 02:00:5e:10:00:0a classid 1:21
tc filter add dev wan0 parent 1: protocol 802.1q prio 5 flower vlan_id 7 classid 1:21
tc filter add dev wan0 parent 1: protocol all prio 6 handle 7 fw classid 1:21
tc filter add dev wan0 parent 1: protocol ip prio 7 basic match 'cmp(u8 at 9 layer network eq 17)' classid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 8 flower src_ip 10.9.0.0/16 classid 1:2
tc filter add dev wan0 parent 1:2 protocol ip prio 1 flower src_ip 10.9.0.0/17 classid 1:21
tc filter add dev wan0 parent 1: protocol all prio 9 matchall classid 1:10

# fq_codel
tc qdisc add dev wan0 root handle 2: stab overhead 24 mpu 84 fq_codel limit 600 flows 512 quantum 300 target 4ms interval 80ms ce_threshold 1ms memory_limit 4mb

# hfsc
tc qdisc add dev wan0 root handle 1: hfsc default 1; tc class add dev wan0 parent 1: classid 1:1 hfsc sc rate 5mbit ul rate 5mbit

# office
tc qdisc add dev wan0 root handle 1: stab overhead 24 mpu 84 htb default 30
tc class add dev wan0 parent 1: classid 1:1 htb rate 9500kbit
tc class add dev wan0 parent 1:1 classid 1:10 htb rate 1mbit ceil 1mbit prio 0
tc class add dev wan0 parent 1:1 classid 1:20 htb rate 4mbit ceil 8mbit prio 1
tc class add dev wan0 parent 1:1 classid 1:30 htb rate 4mbit ceil 9500kbit prio 1
tc qdisc add dev wan0 parent 1:10 handle 10: pfifo limit 50
tc qdisc add dev wan0 parent 1:20 handle 20: fq_codel
tc qdisc add dev wan0 parent 1:30 handle 30: fq_codel
tc filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dport 40000 0xffff match ip protocol 17 0xff flowid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 2 u32 match ip dport 443 0xffff flowid 1:20
tc filter add dev wan0 parent 1: protocol ip prio 2 u32 match ip src 10.77.2.64/26 flowid 1:20

# prio
tc qdisc add dev wan0 root handle 1: prio bands 3

# sfq
tc qdisc add dev wan0 root handle 5: sfq perturb 10 limit 100

# tbf-peak
tc qdisc add dev wan0 root handle 3: tbf rate 9500kbit burst 4kb latency 50ms peakrate 20mbit mtu 2000

# tbf
tc qdisc add dev wan0 root handle 3: tbf rate 9500kbit burst 32kb limit 64kb
tc qdisc add dev wan0 parent 3: handle 4: fq_codel

# u32
tc qdisc add dev wan0 root handle 1: stab overhead 24 mpu 84 linklayer atm htb default 30
tc class add dev wan0 parent 1: classid 1:1 htb rate 9500kbit
tc class add dev wan0 parent 1:1 classid 1:10 htb rate 1mbit ceil 9500kbit prio 0 overhead 20
tc class add dev wan0 parent 1:1 classid 1:20 htb rate 4mbit ceil 6mbit prio 1 burst 100k
tc class add dev wan0 parent 1:1 classid 1:30 htb rate 4mbit ceil 9500kbit prio 2 quantum 3000
tc qdisc add dev wan0 parent 1:10 handle 10: pfifo limit 50
tc qdisc add dev wan0 parent 1:20 handle 20: fq_codel target 10ms interval 200ms noecn limit 600 flows 512 ce_threshold 1ms
tc qdisc add dev wan0 parent 1:30 handle 30: fq_codel
tc filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dport 5060 0xffff match ip protocol 17 0xff flowid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip tos 0x10 0xff flowid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 2 u32 match ip src 10.0.0.0/24 flowid 1:20
tc filter add dev wan0 parent 1: protocol ip prio 2 u32 match ip dst 192.0.2.7/32 match ip sport 80 0xffff flowid 1:20
tc filter add dev wan0 parent 1: protocol ip prio 2 u32 match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 match ip protocol 6 0xff flowid 1:10
tc filter add dev wan0 parent 1: protocol ipv6 prio 3 u32 match ip6 src 2001:db8::/32 flowid 1:20
tc filter add dev wan0 parent 1: protocol ipv6 prio 3 u32 match ip6 dport 53 0xffff match ip6 protocol 17 0xff flowid 1:10
tc filter add dev wan0 parent 1: protocol ipv6 prio 3 u32 match ip6 priority 0xb8 0xfc flowid 1:10
tc filter add dev wan0 parent 1: protocol arp prio 4 u32 match u32 0 0 flowid 1:10
tc filter add dev wan0 parent 1: protocol ip prio 5 u32 match ip dport 5000 0xfff8 flowid 1:20
tc filter add dev wan0 parent 1: prio 6 handle 10: protocol ip u32 divisor 256
tc filter add dev wan0 parent 1: prio 6 protocol ip u32 ht 10:7: match ip src 10.0.0.7/32 flowid 1:10
tc filter add dev wan0 parent 1: prio 6 protocol ip u32 ht 800:: match ip src 10.0.0.0/24 hashkey mask 0x000000ff at 12 link 10:
tc filter add dev wan0 parent 1: prio 7 protocol ip u32 match ip src 10.0.0.9/32 action drop
tc filter add dev wan0 parent 1: prio 8 protocol ip u32 match ip sport 80 0xffff flowid 1:10 action mirred egress mirror dev lo

# lan0
tc qdisc add dev lan0 root handle 1: stab overhead 24 mpu 84 htb default 30
tc class add dev lan0 parent 1: classid 1:1 htb rate 3mbit
tc class add dev lan0 parent 1:1 classid 1:10 htb rate 200kbit
tc class add dev lan0 parent 1:1 classid 1:20 htb rate 1200kbit ceil 3mbit
tc class add dev lan0 parent 1:1 classid 1:30 htb rate 1600kbit ceil 3mbit
tc qdisc add dev lan0 parent 1:10 handle 10: pfifo limit 50
tc qdisc add dev lan0 parent 1:20 handle 20: pfifo limit 200
tc qdisc add dev lan0 parent 1:30 handle 30: fq_codel
tc filter add dev lan0 parent 1: protocol ip u32 match ip protocol 17 0xff match ip dport 40000 0xffff flowid 1:10
tc filter add dev lan0 parent 1: protocol ip u32 match ip protocol 17 0xff match ip dport 5004 0xffff flowid 1:20

